//! Encodes nodes as two byte strings, contents and metadata, and decodes them (FORMAT.md).

use super::content::{Content, MAX_LEVELS, Piece};
use super::node::{DirRef, Meta, Node, NodeKind};
use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::id::ChunkId;

/// The nodes, sorted by name, as contents and metadata.
pub(crate) fn encode(nodes: &[Node]) -> (Vec<u8>, Vec<u8>) {
    let (mut contents, mut metadata) = (Writer::default(), Writer::default());
    contents.list(nodes, encode_contents);
    // Column by column: similar values stand together and compress well.
    let mut column = |encode: &dyn Fn(&mut Writer, &Node)| {
        nodes.iter().for_each(|node| encode(&mut metadata, node));
    };
    column(&|writer, node| writer.varint(node.meta.mode.into()));
    column(&|writer, node| writer.varint(node.meta.uid.into()));
    column(&|writer, node| writer.varint(node.meta.gid.into()));
    column(&|writer, node| {
        writer.signed(node.meta.modified.0);
        writer.varint(node.meta.modified.1.into());
    });
    column(&|writer, node| writer.list(&node.meta.xattrs, encode_xattr));
    column(&encode_link);
    column(&|writer, node| {
        if let NodeKind::Dir(dir) = &node.kind {
            encode_content(writer, &dir.metadata);
        }
    });
    column(&|writer, node| {
        if matches!(node.kind, NodeKind::File { .. }) {
            writer.u32(node.meta.stamp);
        }
    });
    (contents.0, metadata.0)
}

/// The inverse of [`encode`]; refuses names that no directory can have.
pub(crate) fn decode(contents: &[u8], metadata: &[u8]) -> Decoded<Vec<Node>> {
    let mut nodes = Reader::whole(contents, |reader| reader.list(2, decode_contents))?;
    if !nodes.is_sorted_by(|a, b| a.name < b.name) {
        return Err(Malformed);
    }
    Reader::whole(metadata, |reader| decode_metadata(reader, &mut nodes))?;
    Ok(nodes)
}

fn decode_metadata(reader: &mut Reader<'_>, nodes: &mut [Node]) -> Decoded<()> {
    let mut column = |decode: &dyn Fn(&mut Reader<'_>, &mut Node) -> Decoded<()>| {
        nodes.iter_mut().try_for_each(|node| decode(reader, node))
    };
    column(&|reader, node| reader.number().map(|mode| node.meta.mode = mode))?;
    column(&|reader, node| reader.number().map(|user| node.meta.uid = user))?;
    column(&|reader, node| reader.number().map(|group| node.meta.gid = group))?;
    column(&|reader, node| {
        node.meta.modified = (reader.signed()?, reader.number()?);
        Ok(())
    })?;
    column(&|reader, node| reader.list(2, decode_xattr).map(|found| node.meta.xattrs = found))?;
    column(&|reader, node| decode_link(reader).map(|link| node.meta.link = link))?;
    column(&|reader, node| match &mut node.kind {
        NodeKind::Dir(dir) => decode_content(reader).map(|content| dir.metadata = content),
        _ => Ok(()),
    })?;
    column(&|reader, node| match node.kind {
        NodeKind::File { .. } => reader.u32().map(|stamp| node.meta.stamp = stamp),
        _ => Ok(()),
    })
}

fn encode_contents(writer: &mut Writer, node: &Node) {
    writer.bytes(&node.name);
    match &node.kind {
        NodeKind::File { size, content } => {
            writer.u8(0);
            writer.varint(*size);
            encode_content(writer, content);
        }
        NodeKind::Dir(dir) => {
            writer.u8(1);
            encode_content(writer, &dir.contents);
        }
        NodeKind::Symlink(target) => {
            writer.u8(2);
            writer.bytes(target);
        }
        NodeKind::Fifo => writer.u8(3),
        NodeKind::Char(number) => {
            writer.u8(4);
            writer.varint(*number);
        }
        NodeKind::Block(number) => {
            writer.u8(5);
            writer.varint(*number);
        }
    }
}

fn decode_contents(reader: &mut Reader<'_>) -> Decoded<Node> {
    let name = reader.bytes()?.to_vec();
    // Such a name could lead out of the target of a restore.
    let leads_elsewhere = name.is_empty() || name == b"." || name == b"..";
    if leads_elsewhere || name.contains(&b'/') || name.contains(&0) {
        return Err(Malformed);
    }
    let what = match reader.u8()? {
        0 => NodeKind::File { size: reader.varint()?, content: decode_content(reader)? },
        1 => {
            let contents = decode_content(reader)?;
            NodeKind::Dir(DirRef { contents, metadata: Content::default() })
        }
        2 => NodeKind::Symlink(reader.bytes()?.to_vec()),
        3 => NodeKind::Fifo,
        4 => NodeKind::Char(reader.varint()?),
        5 => NodeKind::Block(reader.varint()?),
        _ => return Err(Malformed),
    };
    Ok(Node { name, kind: what, meta: Meta::default() })
}

fn encode_piece(writer: &mut Writer, piece: &Piece) {
    match piece {
        Piece::Chunk { id, len } => {
            writer.u8(0);
            writer.raw(&id.0);
            writer.varint(*len);
        }
        Piece::Hole(len) => {
            writer.u8(1);
            writer.varint(*len);
        }
    }
}

fn decode_piece(reader: &mut Reader<'_>) -> Decoded<Piece> {
    match reader.u8()? {
        0 => match (ChunkId(reader.array()?), reader.varint()?) {
            // No chunk is empty, so that a list that goes on makes progress.
            (_, 0) => Err(Malformed),
            (id, len) => Ok(Piece::Chunk { id, len }),
        },
        1 => Ok(Piece::Hole(reader.varint()?)),
        _ => Err(Malformed),
    }
}

pub(super) fn encode_list(pieces: &[Piece]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.list(pieces, encode_piece);
    writer.0
}

pub(super) fn decode_list(bytes: &[u8]) -> Decoded<Vec<Piece>> {
    Reader::whole(bytes, |reader| reader.list(2, decode_piece))
}

pub(crate) fn encode_content(writer: &mut Writer, content: &Content) {
    writer.u8(content.levels);
    writer.list(&content.pieces, encode_piece);
}

pub(crate) fn decode_content(reader: &mut Reader<'_>) -> Decoded<Content> {
    let content = Content { levels: reader.u8()?, pieces: reader.list(2, decode_piece)? };
    if content.levels <= MAX_LEVELS { Ok(content) } else { Err(Malformed) }
}

fn encode_xattr(writer: &mut Writer, (name, value): &(Vec<u8>, Vec<u8>)) {
    writer.bytes(name);
    writer.bytes(value);
}

fn decode_xattr(reader: &mut Reader<'_>) -> Decoded<(Vec<u8>, Vec<u8>)> {
    Ok((reader.bytes()?.to_vec(), reader.bytes()?.to_vec()))
}

fn encode_link(writer: &mut Writer, node: &Node) {
    writer.u8(node.meta.link.is_some().into());
    if let Some((device, inode)) = node.meta.link {
        writer.varint(device);
        writer.varint(inode);
    }
}

fn decode_link(reader: &mut Reader<'_>) -> Decoded<Option<(u64, u64)>> {
    match reader.u8()? {
        0 => Ok(None),
        1 => Ok(Some((reader.varint()?, reader.varint()?))),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<Node> {
        let chunk = |byte, len| Piece::Chunk { id: ChunkId([byte; ChunkId::LEN]), len };
        let content = |levels, pieces: &[Piece]| Content { levels, pieces: pieces.to_vec() };
        let pieces = [chunk(1, 7), Piece::Hole(1 << 40), chunk(2, 1 << 50)];
        let whats = [
            NodeKind::File { size: 1 << 41, content: content(1, &pieces) },
            NodeKind::Dir(DirRef {
                contents: content(1, &[chunk(3, 9)]),
                metadata: content(0, &[chunk(4, 1), chunk(5, 300)]),
            }),
            NodeKind::Symlink(b"../\xff\n".to_vec()),
            NodeKind::Fifo,
            NodeKind::Char(0x103),
            NodeKind::Block(u64::MAX),
        ];
        let node = |(i, what): (usize, NodeKind)| Node {
            name: vec![b'a' + i as u8, 0xfe, b'\n'],
            meta: Meta {
                mode: 0o6755,
                uid: u32::MAX,
                gid: i as u32,
                modified: (-5, 999_999_999),
                stamp: if matches!(what, NodeKind::File { .. }) { 77 } else { 0 },
                link: (i % 2 == 0).then_some((9, 10)),
                xattrs: vec![(b"user.a".to_vec(), vec![0; i])],
            },
            kind: what,
        };
        whats.into_iter().enumerate().map(node).collect()
    }

    #[test]
    fn decode_inverts_encode() {
        let (contents, metadata) = encode(&nodes());
        assert_eq!(decode(&contents, &metadata), Ok(nodes()));
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let (contents, metadata) = encode(&nodes());
        for len in 0..contents.len() {
            assert_eq!(decode(&contents[..len], &metadata), Err(Malformed));
        }
        for len in 0..metadata.len() {
            assert_eq!(decode(&contents, &metadata[..len]), Err(Malformed));
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["", ".", "..", "a/b", "a\0b"] {
            let mut nodes = nodes();
            nodes.truncate(1);
            nodes[0].name = name.into();
            let (contents, metadata) = encode(&nodes);
            assert_eq!(decode(&contents, &metadata), Err(Malformed), "{name:?}");
        }
    }
}
