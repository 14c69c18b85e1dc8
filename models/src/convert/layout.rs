//! Which tensors a whisper ggml file holds, in which order, and which rows of which CTranslate2 variable each one is.

use std::io::{Read, Seek};

use super::{ConvertError, ct2::Model, q8, unsuitable};

/// Dimensions of a whisper model, as they stand in the head of a ggml file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hyper {
    pub(crate) vocab: u32,
    pub(crate) audio_ctx: u32,
    pub(crate) audio_state: u32,
    pub(crate) audio_heads: u32,
    pub(crate) audio_layers: u32,
    pub(crate) text_ctx: u32,
    pub(crate) text_state: u32,
    pub(crate) text_heads: u32,
    pub(crate) text_layers: u32,
    pub(crate) mels: u32,
}

impl Hyper {
    /// The dimensions, by the shapes of the variables.
    pub(super) fn of<R: Read + Seek>(model: &mut Model<R>) -> Result<Hyper, ConvertError> {
        let [vocab, text_state] = shape(model, "decoder/embeddings/weight")?;
        let [text_ctx, _] = shape(model, "decoder/position_encodings/encodings")?;
        let [audio_ctx, audio_state] = shape(model, "encoder/position_encodings/encodings")?;
        let [_, mels, _] = shape(model, "encoder/conv1/weight")?;
        let hyper = Hyper {
            vocab,
            audio_ctx,
            audio_state,
            audio_heads: model.scalar("encoder/num_heads")?,
            audio_layers: layers(model, "encoder"),
            text_ctx,
            text_state,
            text_heads: model.scalar("decoder/num_heads")?,
            text_layers: layers(model, "decoder"),
            mels,
        };
        match hyper.oddity() {
            Some(oddity) => unsuitable(oddity),
            None => Ok(hyper),
        }
    }

    /// What about these dimensions no whisper model has, if anything. The limits leave room above the largest model
    /// (large-v3: vocabulary 51,866, state 1,280, 20 heads, 32 layers, 128 mels).
    pub(crate) fn oddity(&self) -> Option<String> {
        let checks = [
            ("vocabulary size", self.vocab, 50_257..=65_536),
            ("audio window", self.audio_ctx, 1..=3_000),
            ("audio state", self.audio_state, 64..=4_096),
            ("audio heads", self.audio_heads, 1..=64),
            ("audio layers", self.audio_layers, 1..=64),
            ("text window", self.text_ctx, 1..=4_096),
            ("text state", self.text_state, self.audio_state..=self.audio_state),
            ("text heads", self.text_heads, 1..=64),
            ("text layers", self.text_layers, 1..=64),
            ("mel bands", self.mels, 80..=128),
        ];
        checks
            .into_iter()
            .find(|(_, value, range)| !range.contains(value))
            .map(|(what, value, _)| format!("its {what} would be {value}, which no whisper model has"))
    }
}

/// One tensor of the ggml file.
pub(super) struct Part {
    /// Its name there.
    pub(super) ggml: String,
    /// Its dimensions, outermost first.
    pub(super) dims: Vec<u32>,
    /// How it is written.
    pub(super) keep: Keep,
    /// The variable that it comes from.
    pub(super) source: String,
    /// The dimensions that the variable must have.
    pub(super) source_dims: Vec<u32>,
    /// The first row of the variable that belongs to it.
    first_row: u32,
}

/// How a tensor is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// 16-bit, as it is.
    Half,
    /// In blocks of 8-bit numbers.
    Quantised,
    /// Widened to 32 bits: biases, norms, positions.
    Single,
    /// Not at all: whisper's keys have no bias, but fused layers store zeros for it.
    MustBeZero,
}

impl Part {
    /// A matrix is written in blocks. The two convolutions have three dimensions and stay as they are, as do positions,
    /// biases and norms, which are written wider anyway.
    pub(super) fn quantise(&mut self) -> Result<(), ConvertError> {
        if let (Keep::Half, [_, row]) = (self.keep, self.dims.as_slice()) {
            if row % q8::BLOCK as u32 != 0 {
                return unsuitable(format!(
                    "{} has rows of {row} numbers, which no blocks fill",
                    self.source
                ));
            }
            self.keep = Keep::Quantised;
        }
        Ok(())
    }

    /// How many numbers it has.
    pub(super) fn elements(&self) -> u64 {
        self.dims.iter().map(|dim| u64::from(*dim)).product()
    }

    /// How many numbers of the variable come before it.
    pub(super) fn first_element(&self) -> u64 {
        let row: u64 = self
            .source_dims
            .iter()
            .skip(1)
            .map(|dim| u64::from(*dim))
            .product();
        u64::from(self.first_row) * row
    }
}

/// All tensors, in the order of OpenAI's checkpoints.
pub(super) fn parts(hyper: &Hyper) -> Vec<Part> {
    let n = hyper.audio_state;
    let mut plan = Plan(Vec::new());
    let positions = "position_encodings/encodings";
    plan.whole(
        "decoder.positional_embedding",
        format!("decoder/{positions}"),
        &[hyper.text_ctx, n],
        Keep::Single,
    );
    plan.whole(
        "encoder.positional_embedding",
        format!("encoder/{positions}"),
        &[hyper.audio_ctx, n],
        Keep::Single,
    );
    plan.whole(
        "decoder.token_embedding.weight",
        "decoder/embeddings/weight",
        &[hyper.vocab, n],
        Keep::Half,
    );
    for layer in 0..hyper.text_layers {
        plan.block("decoder", layer, n);
        plan.cross_attention(layer, n);
    }
    plan.norm("decoder.ln", "decoder/layer_norm", n);
    for (conv, inputs) in [("conv1", hyper.mels), ("conv2", n)] {
        let source = format!("encoder/{conv}");
        plan.whole(
            format!("encoder.{conv}.weight"),
            format!("{source}/weight"),
            &[n, inputs, 3],
            Keep::Half,
        );
        plan.whole(
            format!("encoder.{conv}.bias"),
            format!("{source}/bias"),
            &[n],
            Keep::Single,
        );
        // whisper.cpp adds this bias to columns, so there it has a second dimension.
        if let Some(bias) = plan.0.last_mut() {
            bias.dims.push(1);
        }
    }
    for layer in 0..hyper.audio_layers {
        plan.block("encoder", layer, n);
    }
    plan.norm("encoder.ln_post", "encoder/layer_norm", n);
    plan.0
}

struct Plan(Vec<Part>);

impl Plan {
    fn block(&mut self, side: &str, layer: u32, n: u32) {
        let (to, from) = (format!("{side}.blocks.{layer}"), format!("{side}/layer_{layer}"));
        self.norm(&format!("{to}.mlp_ln"), &format!("{from}/ffn/layer_norm"), n);
        self.linear(&format!("{to}.mlp.0"), &format!("{from}/ffn/linear_0"), 4 * n, n);
        self.linear(&format!("{to}.mlp.2"), &format!("{from}/ffn/linear_1"), n, 4 * n);
        let from = format!("{from}/self_attention");
        self.norm(&format!("{to}.attn_ln"), &format!("{from}/layer_norm"), n);
        let fused = format!("{from}/linear_0");
        self.attention(
            &format!("{to}.attn"),
            [(&fused, 3, 0), (&fused, 3, 1), (&fused, 3, 2)],
            n,
        );
        self.linear(&format!("{to}.attn.out"), &format!("{from}/linear_1"), n, n);
    }

    fn cross_attention(&mut self, layer: u32, n: u32) {
        let (to, from) = (
            format!("decoder.blocks.{layer}"),
            format!("decoder/layer_{layer}/attention"),
        );
        self.norm(&format!("{to}.cross_attn_ln"), &format!("{from}/layer_norm"), n);
        let (query, fused) = (format!("{from}/linear_0"), format!("{from}/linear_1"));
        self.attention(
            &format!("{to}.cross_attn"),
            [(&query, 1, 0), (&fused, 2, 0), (&fused, 2, 1)],
            n,
        );
        self.linear(&format!("{to}.cross_attn.out"), &format!("{from}/linear_2"), n, n);
    }

    /// Query, key and value: for each the layer, how many are fused in it, and which of them it is.
    fn attention(&mut self, to: &str, layers: [(&str, u32, u32); 3], n: u32) {
        for (role, (from, fused, index)) in ["query", "key", "value"].into_iter().zip(layers) {
            let mut slice = |what: &str, row: &[u32], keep| {
                self.0.push(Part {
                    ggml: format!("{to}.{role}.{what}"),
                    dims: [&[n], row].concat(),
                    keep,
                    source: format!("{from}/{what}"),
                    source_dims: [&[fused * n], row].concat(),
                    first_row: index * n,
                });
            };
            slice("weight", &[n], Keep::Half);
            slice(
                "bias",
                &[],
                if role == "key" {
                    Keep::MustBeZero
                } else {
                    Keep::Single
                },
            );
        }
    }

    fn linear(&mut self, to: &str, from: &str, outputs: u32, inputs: u32) {
        self.whole(
            format!("{to}.weight"),
            format!("{from}/weight"),
            &[outputs, inputs],
            Keep::Half,
        );
        self.whole(
            format!("{to}.bias"),
            format!("{from}/bias"),
            &[outputs],
            Keep::Single,
        );
    }

    fn norm(&mut self, to: &str, from: &str, n: u32) {
        self.whole(
            format!("{to}.weight"),
            format!("{from}/gamma"),
            &[n],
            Keep::Single,
        );
        self.whole(format!("{to}.bias"), format!("{from}/beta"), &[n], Keep::Single);
    }

    fn whole(&mut self, to: impl Into<String>, from: impl Into<String>, dims: &[u32], keep: Keep) {
        self.0.push(Part {
            ggml: to.into(),
            dims: dims.to_vec(),
            keep,
            source: from.into(),
            source_dims: dims.to_vec(),
            first_row: 0,
        });
    }
}

fn shape<R: Read + Seek, const N: usize>(model: &Model<R>, name: &str) -> Result<[u32; N], ConvertError> {
    let dims = model.dims(name)?;
    match dims.try_into() {
        Ok(dims) => Ok(dims),
        Err(_) => unsuitable(format!("{name} has {} dimensions, expected {N}", dims.len())),
    }
}

fn layers<R: Read + Seek>(model: &Model<R>, side: &str) -> u32 {
    (0..)
        .take_while(|layer| model.has(&format!("{side}/layer_{layer}/ffn/linear_0/weight")))
        .count() as u32
}
