//! Integers, byte strings and names as FORMAT.md defines them. Knows nothing of what they mean. A
//! reader checks every length against the bytes that are left before it allocates.

use crate::id::Name;

/// The bytes end early or have a value that is not allowed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) type Decoded<T> = Result<T, Malformed>;

#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Seven bits per byte, lowest first; the highest bit says that more bytes follow.
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Signed integers, small ones short: 0, -1, 1, -2 become 0, 1, 2, 3.
    pub(crate) fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)) as u64);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The length, then the bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.raw(bytes);
    }

    /// The number of elements, then the elements.
    pub(crate) fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.varint(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }

    pub(crate) fn names(&mut self, names: &[Name]) {
        self.list(names, |writer, name| writer.raw(&name.0));
    }
}

pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn raw(&mut self, len: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn varint(&mut self) -> Decoded<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    pub(crate) fn signed(&mut self) -> Decoded<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Decoded<T> {
        T::try_from(self.varint()?).map_err(|_| Malformed)
    }

    pub(crate) fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let len = self.number()?;
        self.raw(len)
    }

    pub(crate) fn text(&mut self) -> Decoded<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Malformed)
    }

    /// A list whose elements take at least `least` bytes each, so that a wrong count allocates
    /// nothing.
    pub(crate) fn list<T>(
        &mut self,
        least: usize,
        mut each: impl FnMut(&mut Self) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        let count: usize = self.number()?;
        if count > self.0.len() / least.max(1) {
            return Err(Malformed);
        }
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(each(self)?);
        }
        Ok(items)
    }

    pub(crate) fn names(&mut self) -> Decoded<Vec<Name>> {
        self.list(Name::LEN, |reader| Ok(Name(reader.array()?)))
    }

    /// What `decode` makes of all these bytes: none may be left.
    pub(crate) fn whole<T>(
        bytes: &'a [u8],
        decode: impl FnOnce(&mut Self) -> Decoded<T>,
    ) -> Decoded<T> {
        let mut reader = Self(bytes);
        let decoded = decode(&mut reader)?;
        if reader.0.is_empty() { Ok(decoded) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_inverts_encode() {
        let mut writer = Writer::default();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let signed = [0, -1, 1, i64::MIN, i64::MAX, -1_700_000_000];
        numbers.iter().for_each(|&number| writer.varint(number));
        signed.iter().for_each(|&number| writer.signed(number));
        writer.bytes(b"name");
        writer.list(&[7u8, 8], |writer, &item| writer.u8(item));
        let decoded = Reader::whole(&writer.0, |reader| {
            numbers.iter().for_each(|&number| assert_eq!(reader.varint(), Ok(number)));
            signed.iter().for_each(|&number| assert_eq!(reader.signed(), Ok(number)));
            assert_eq!(reader.bytes(), Ok(&b"name"[..]));
            assert_eq!(reader.list(1, Reader::u8), Ok(vec![7, 8]));
            Ok(())
        });
        assert_eq!(decoded, Ok(()));
        assert_eq!(Reader::whole(b"more", Reader::u8), Err(Malformed));
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut writer = Writer::default();
        writer.varint(u64::MAX);
        assert_eq!(Reader(&writer.0).bytes(), Err(Malformed));
        assert_eq!(Reader(&writer.0).list(1, Reader::u8), Err(Malformed));
        assert_eq!(Reader(&[0xff; 10]).varint(), Err(Malformed));
        assert_eq!(Reader(&[0x80]).varint(), Err(Malformed));
    }
}
