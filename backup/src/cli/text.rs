//! Numbers, times and names for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A number of bytes in the largest fitting unit.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::BinaryBytes(count).to_string()
}

/// A time in the local time zone.
pub(crate) fn time(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A name as one line, whatever bytes it has: unprintable ones are escaped as in Rust and C.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for part in bytes.utf8_chunks() {
        for character in part.valid().chars() {
            if character.is_control() || character == '\\' {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in part.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

pub(crate) fn mode(kind: char, mode: u32) -> String {
    let mut text = String::from(kind);
    for (shift, special, letters) in [(6, 0o4000, "sS"), (3, 0o2000, "sS"), (0, 0o1000, "tT")] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        let mut letters = letters.chars();
        let (both, alone) = (letters.next().unwrap_or('s'), letters.next().unwrap_or('S'));
        text.push(match (bits & 1 != 0, mode & special != 0) {
            (true, true) => both,
            (false, true) => alone,
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_one_line_and_lose_nothing() {
        assert_eq!(escaped("plain ü".as_bytes()), "plain ü");
        assert_eq!(escaped(b"a\nb\xff\\"), "a\\nb\\xff\\\\");
    }

    #[test]
    fn modes_are_written_as_ls_does() {
        assert_eq!(mode('-', 0o644), "-rw-r--r--");
        assert_eq!(mode('d', 0o1777), "drwxrwxrwt");
        assert_eq!(mode('-', 0o6710), "-rws--s---");
        assert_eq!(mode('-', 0o4600), "-rwS------");
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(5 << 30), "5.00 GiB");
    }
}
