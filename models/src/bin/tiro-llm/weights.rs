//! Loading a GGUF file, after looking at it: what llama.cpp cannot load it sometimes aborts on.

use std::path::Path;

use llama_cpp_2::{
    LlamaBackendDevice, LlamaBackendDeviceType, list_llama_ggml_backend_devices,
    llama_backend::LlamaBackend,
    model::{LlamaModel, params::LlamaModelParams},
};
use models::{
    EngineError,
    gguf::{self, GgufInfo},
    machine, nativelog,
    protocol::{KvType, LlmLoad},
};

use crate::window;

/// A model and how it was placed.
pub(crate) struct Weights {
    pub(crate) model: LlamaModel,
    pub(crate) header: GgufInfo,
    /// Window in tokens.
    pub(crate) context: u32,
    /// Tokens that the KV cache has room for at first.
    pub(crate) first: u32,
    /// "CPU (AVX2, FMA)", "Vulkan0: 25 of 25 layers".
    pub(crate) device: String,
    /// KV cache of the whole window, bytes.
    pub(crate) kv_bytes: u64,
}

/// Loads. Memory is asked for the whole window, although the KV cache starts smaller.
///
/// # Errors
/// `NoModel`, `BadModel` with what is wrong, `TooLittleMemory`.
pub(crate) fn load(backend: &LlamaBackend, load: &LlmLoad) -> Result<Weights, EngineError> {
    let path = &load.path;
    if !path.exists() {
        return Err(EngineError::NoModel { path: path.clone() });
    }
    let header = gguf::inspect(path).map_err(|e| bad(path, e.to_string()))?;
    let context = match header.context_length {
        Some(trained) if u64::from(load.context) > trained => u32::try_from(trained).unwrap_or(load.context),
        _ => load.context,
    };
    let number = match load.kv {
        KvType::F16 => 2.0,
        KvType::Q8_0 => 34.0 / 32.0,
    };
    let needed = gguf::estimate_memory(&header, context.into(), number);
    let kv_bytes = needed.saturating_sub(gguf::estimate_memory(&header, 0, number));
    let gpus = gpus();
    let layers = gpu_layers(&header, needed, load.gpu_layers, &gpus);
    let on_cpu = needed - needed / (header.block_count.unwrap_or(0) + 1) * u64::from(layers);
    let free = machine::available_memory();
    if let Some(free) = free
        && on_cpu > free
    {
        return Err(EngineError::TooLittleMemory {
            path: path.clone(),
            needed_mib: on_cpu >> 20,
            free_mib: free >> 20,
        });
    }
    drop(nativelog::take_last_error());
    let params = LlamaModelParams::default().with_n_gpu_layers(layers);
    let model = LlamaModel::load_from_file(backend, path, &params).map_err(|e| {
        let reason = nativelog::take_last_error().unwrap_or_else(|| e.to_string());
        bad(path, format!("{reason}."))
    })?;
    // While the last growth is under way there are half of the cache, its state and the whole one. On a GPU the cache is
    // cleared in no time, and its memory was divided for the whole.
    let roomy = layers == 0 && free.is_none_or(|free| free - on_cpu >= kv_bytes);
    Ok(Weights {
        first: window::first(&model, &header, context, roomy),
        model,
        device: device(&gpus, layers, header.block_count.unwrap_or(0) + 1),
        header,
        context,
        kv_bytes,
    })
}

pub(crate) fn bad(path: &Path, reason: String) -> EngineError {
    EngineError::BadModel {
        path: path.to_owned(),
        reason,
    }
}

fn gpus() -> Vec<LlamaBackendDevice> {
    let mut devices = list_llama_ggml_backend_devices();
    devices.retain(|d| {
        matches!(
            d.device_type,
            LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu
        )
    });
    devices
}

/// Layers that go to the GPUs, the output layer counted: what was asked for, else what fits nine tenths of their
/// free memory, each layer taking an equal share of weights and cache.
fn gpu_layers(header: &GgufInfo, needed: u64, wanted: Option<u32>, gpus: &[LlamaBackendDevice]) -> u32 {
    let all = header.block_count.unwrap_or(0) + 1;
    let free: u64 = gpus.iter().map(|gpu| gpu.memory_free as u64).sum();
    let fit = (free / 10 * 9).checked_div(needed / all).unwrap_or(0).min(all);
    match wanted {
        _ if gpus.is_empty() => 0,
        Some(layers) => layers.min(u32::try_from(all).unwrap_or(u32::MAX)),
        None => u32::try_from(fit).unwrap_or(0),
    }
}

fn device(gpus: &[LlamaBackendDevice], layers: u32, all: u64) -> String {
    match gpus.first() {
        Some(gpu) if layers > 0 => format!("{}: {layers} of {all} layers", gpu.name),
        _ => format!("CPU ({})", cpu_features()),
    }
}

/// What ggml's kernels were built for. Its build takes these from rustc's, so rustc's are the truth.
fn cpu_features() -> String {
    let features = [
        ("AVX", cfg!(target_feature = "avx")),
        ("AVX2", cfg!(target_feature = "avx2")),
        ("FMA", cfg!(target_feature = "fma")),
        ("F16C", cfg!(target_feature = "f16c")),
        ("AVX512", cfg!(target_feature = "avx512f")),
        ("NEON", cfg!(target_feature = "neon")),
        ("DOTPROD", cfg!(target_feature = "dotprod")),
    ];
    let on: Vec<&str> = features
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| *name)
        .collect();
    if on.is_empty() {
        "baseline".into()
    } else {
        on.join(", ")
    }
}
