//! What an engine needs to know of the machine: cores, free memory, and which GPU was taken.

/// Physical cores that this process may use. Two threads on one core fight over its vector units, so hyperthreads
/// are not counted.
pub fn cores() -> u32 {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = physical().filter(|n| *n > 0).unwrap_or(usable).min(usable);
    u32::try_from(cores).unwrap_or(1)
}

/// Memory that can be used without swapping, bytes; `None` where the system does not say.
pub fn available_memory() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Sets of threads that share a core, as Linux lists them.
fn physical() -> Option<usize> {
    let mut siblings: Vec<String> = std::fs::read_dir("/sys/devices/system/cpu")
        .ok()?
        .flatten()
        .filter_map(|cpu| std::fs::read_to_string(cpu.path().join("topology/thread_siblings_list")).ok())
        .collect();
    siblings.sort_unstable();
    siblings.dedup();
    Some(siblings.len())
}

/// The GPU in use after whisper.cpp logged this line, by ggml's name for it ("Vulkan0"). What it was built for says
/// nothing: a build with Vulkan runs on the processor where there is no such card, and where the card does not start.
pub fn gpu_after(before: Option<String>, line: &str) -> Option<String> {
    let named = |start: &str| Some(line.split_once(start)?.1.split_once(" backend")?.0.to_owned());
    if let Some(taken) = named("whisper_backend_init_gpu: using ") {
        return Some(taken);
    }
    match named("whisper_backend_init_gpu: failed to initialize ") {
        Some(_) => None,
        None => before,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_gpu_is_what_was_started_and_not_what_was_built() {
        let check = |lines: &[&str], gpu: Option<&str>| {
            let seen = lines.iter().fold(None, |gpu, line| super::gpu_after(gpu, line));
            assert_eq!(seen.as_deref(), gpu, "{lines:?}");
        };
        let none = "whisper_backend_init_gpu: no GPU found";
        let uses = "whisper_backend_init_gpu: using Vulkan0 backend";
        let fails = "whisper_backend_init_gpu: failed to initialize Vulkan0 backend";
        check(&[none], None);
        check(
            &["whisper_backend_init_gpu: device 0: Vulkan0 (type: 1)", uses],
            Some("Vulkan0"),
        );
        check(&[uses, fails], None);
        // An accelerator beside the processor is no GPU, and what else is logged changes nothing.
        check(&["whisper_backend_init: using BLAS backend"], None);
        check(
            &[uses, "whisper_init_state: kv self size = 3.15 MB"],
            Some("Vulkan0"),
        );
    }

    #[test]
    fn there_is_a_core_and_some_memory() {
        let usable = std::thread::available_parallelism().unwrap().get();
        assert!((1..=usable).contains(&(super::cores() as usize)));
        if cfg!(target_os = "linux") {
            assert!(super::available_memory().unwrap() > 1 << 20);
        }
    }
}
