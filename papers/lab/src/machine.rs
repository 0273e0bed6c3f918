//! What the system reports about the machine and this program.

pub fn processor() -> String {
    let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = described.lines().find_map(|line| line.strip_prefix("model name"));
    let name = named.map(|name| name.trim_start_matches([' ', '\t', ':']));
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}

pub fn resident_bytes() -> Option<usize> {
    resident(&std::fs::read_to_string("/proc/self/status").ok()?)
}

pub fn available_bytes() -> Option<usize> {
    kibibytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

fn resident(status: &str) -> Option<usize> {
    kibibytes(status, "VmRSS:")
}

fn kibibytes(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_where_it_is_reported() {
        assert_eq!(resident("Name:\tlab\nVmRSS:\t    1234 kB\nThreads:\t1\n"), Some(1234 << 10));
        assert_eq!(resident("Name:\tlab\n"), None);
    }
}
