//! What an engine needs to know of the machine: cores and free memory.

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

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_a_core_and_some_memory() {
        let usable = std::thread::available_parallelism().unwrap().get();
        assert!((1..=usable).contains(&(super::cores() as usize)));
        if cfg!(target_os = "linux") {
            assert!(super::available_memory().unwrap() > 1 << 20);
        }
    }
}
