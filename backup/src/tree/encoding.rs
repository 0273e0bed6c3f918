//! Encodes nodes as two byte strings, contents and metadata, and decodes them (FORMAT.md). The two
//! versions differ in how a content is written: version 1 has one flat list without lengths.

use super::content::{Content, Piece};
use super::node::{DirRef, Meta, Node, NodeKind};
use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::config::Version;
use crate::id::ChunkId;

/// The nodes, sorted by name, as contents and metadata.
pub(crate) fn encode(nodes: &[Node]) -> (Vec<u8>, Vec<u8>) {
    encode_as(Version::V2, nodes)
}

pub(crate) fn encode_v1(nodes: &[Node]) -> (Vec<u8>, Vec<u8>) {
    encode_as(Version::V1, nodes)
}

/// The inverse of [`encode`]; refuses names that no directory can have.
pub(crate) fn decode(contents: &[u8], metadata: &[u8]) -> Decoded<Vec<Node>> {
    decode_as(Version::V2, contents, metadata)
}

pub(crate) fn decode_v1(contents: &[u8], metadata: &[u8]) -> Decoded<Vec<Node>> {
    decode_as(Version::V1, contents, metadata)
}

fn encode_as(version: Version, nodes: &[Node]) -> (Vec<u8>, Vec<u8>) {
    let (mut contents, mut metadata) = (Writer::default(), Writer::default());
    contents.list(nodes, |writer, node| encode_contents(version, writer, node));
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
            encode_content(version, writer, &dir.metadata);
        }
    });
    column(&|writer, node| {
        if matches!(node.kind, NodeKind::File { .. }) {
            writer.u32(node.meta.stamp);
        }
    });
    (contents.0, metadata.0)
}

fn decode_as(version: Version, contents: &[u8], metadata: &[u8]) -> Decoded<Vec<Node>> {
    let mut reader = Reader(contents);
    let mut nodes = reader.list(2, |reader| decode_contents(version, reader))?;
    reader.end()?;
    if !nodes.is_sorted_by(|a, b| a.name < b.name) {
        return Err(Malformed);
    }
    let mut reader = Reader(metadata);
    let mut column = |decode: &dyn Fn(&mut Reader<'_>, &mut Node) -> Decoded<()>| {
        nodes.iter_mut().try_for_each(|node| decode(&mut reader, node))
    };
    column(&|reader, node| {
        node.meta.mode = reader.number()?;
        Ok(())
    })?;
    column(&|reader, node| {
        node.meta.uid = reader.number()?;
        Ok(())
    })?;
    column(&|reader, node| {
        node.meta.gid = reader.number()?;
        Ok(())
    })?;
    column(&|reader, node| {
        node.meta.modified = (reader.signed()?, reader.number()?);
        Ok(())
    })?;
    column(&|reader, node| {
        node.meta.xattrs = reader.list(2, decode_xattr)?;
        Ok(())
    })?;
    column(&|reader, node| {
        node.meta.link = decode_link(reader)?;
        Ok(())
    })?;
    column(&|reader, node| {
        if let NodeKind::Dir(dir) = &mut node.kind {
            dir.metadata = decode_content(version, reader)?;
        }
        Ok(())
    })?;
    column(&|reader, node| {
        if matches!(node.kind, NodeKind::File { .. }) {
            node.meta.stamp = reader.u32()?;
        }
        Ok(())
    })?;
    reader.end()?;
    Ok(nodes)
}

fn encode_contents(version: Version, writer: &mut Writer, node: &Node) {
    writer.bytes(&node.name);
    match &node.kind {
        NodeKind::File { size, content } => {
            writer.u8(0);
            writer.varint(*size);
            match version {
                Version::V1 => writer.list(&content.pieces, encode_piece_v1),
                Version::V2 => encode_content(version, writer, content),
            }
        }
        NodeKind::Dir(dir) => {
            writer.u8(1);
            encode_content(version, writer, &dir.contents);
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

fn decode_contents(version: Version, reader: &mut Reader<'_>) -> Decoded<Node> {
    let name = reader.bytes()?.to_vec();
    // Such a name could lead out of the target of a restore.
    let leads_elsewhere = name.is_empty() || name == b"." || name == b"..";
    if leads_elsewhere || name.contains(&b'/') || name.contains(&0) {
        return Err(Malformed);
    }
    let what = match reader.u8()? {
        0 => {
            let size = reader.varint()?;
            let content = match version {
                Version::V1 => Content { levels: 0, pieces: reader.list(2, decode_piece_v1)? },
                Version::V2 => decode_content(version, reader)?,
            };
            NodeKind::File { size, content }
        }
        1 => {
            let contents = decode_content(version, reader)?;
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

fn encode_piece_v1(writer: &mut Writer, piece: &Piece) {
    match piece {
        Piece::Chunk { id, .. } => {
            writer.u8(0);
            writer.raw(&id.0);
        }
        Piece::Hole(len) => {
            writer.u8(1);
            writer.varint(*len);
        }
    }
}

fn decode_piece_v1(reader: &mut Reader<'_>) -> Decoded<Piece> {
    match reader.u8()? {
        0 => Ok(Piece::Chunk { id: ChunkId(reader.array()?), len: 0 }),
        1 => Ok(Piece::Hole(reader.varint()?)),
        _ => Err(Malformed),
    }
}

/// As version 1, with the length after the id of a chunk.
fn encode_piece(writer: &mut Writer, piece: &Piece) {
    encode_piece_v1(writer, piece);
    if let Piece::Chunk { len, .. } = piece {
        writer.varint(*len);
    }
}

fn decode_piece(reader: &mut Reader<'_>) -> Decoded<Piece> {
    match decode_piece_v1(reader)? {
        // No chunk is empty, so that a list that goes on makes progress.
        Piece::Chunk { id, .. } => match reader.varint()? {
            0 => Err(Malformed),
            len => Ok(Piece::Chunk { id, len }),
        },
        hole => Ok(hole),
    }
}

/// The chunk of a list of pieces.
pub(super) fn encode_list(pieces: &[Piece]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.list(pieces, encode_piece);
    writer.0
}

pub(super) fn decode_list(bytes: &[u8]) -> Decoded<Vec<Piece>> {
    let mut reader = Reader(bytes);
    let pieces = reader.list(2, decode_piece)?;
    reader.end()?;
    Ok(pieces)
}

/// Half of a directory, or in version 2 any content.
pub(crate) fn encode_content(version: Version, writer: &mut Writer, content: &Content) {
    if version == Version::V2 {
        writer.u8(content.levels);
        return writer.list(&content.pieces, encode_piece);
    }
    writer.list(&content.pieces, |writer, piece| {
        if let Piece::Chunk { id, .. } = piece {
            writer.raw(&id.0);
        }
    });
}

pub(crate) fn decode_content(version: Version, reader: &mut Reader<'_>) -> Decoded<Content> {
    if version == Version::V2 {
        let content = Content { levels: reader.u8()?, pieces: reader.list(2, decode_piece)? };
        return if content.is_sound() { Ok(content) } else { Err(Malformed) };
    }
    let id = |reader: &mut Reader<'_>| Ok(Piece::Chunk { id: ChunkId(reader.array()?), len: 0 });
    Ok(Content { levels: 0, pieces: reader.list(ChunkId::LEN, id)? })
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

    fn nodes(version: Version) -> Vec<Node> {
        let len = |len| if version == Version::V1 { 0 } else { len };
        let chunk = |byte, n| Piece::Chunk { id: ChunkId([byte; ChunkId::LEN]), len: len(n) };
        let content = |levels, pieces: &[Piece]| Content { levels, pieces: pieces.to_vec() };
        let levels = u8::from(version == Version::V2);
        let pieces = [chunk(1, 7), Piece::Hole(1 << 40), chunk(2, 1 << 50)];
        let whats = [
            NodeKind::File { size: 1 << 41, content: content(levels, &pieces) },
            NodeKind::Dir(DirRef {
                contents: content(levels, &[chunk(3, 9)]),
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

    const VERSIONS: [Version; 2] = [Version::V1, Version::V2];

    #[test]
    fn decode_inverts_encode() {
        for version in VERSIONS {
            let (contents, metadata) = encode_as(version, &nodes(version));
            assert_eq!(decode_as(version, &contents, &metadata), Ok(nodes(version)));
        }
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        for version in VERSIONS {
            let (contents, metadata) = encode_as(version, &nodes(version));
            for len in 0..contents.len() {
                assert_eq!(decode_as(version, &contents[..len], &metadata), Err(Malformed));
            }
            for len in 0..metadata.len() {
                assert_eq!(decode_as(version, &contents, &metadata[..len]), Err(Malformed));
            }
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["", ".", "..", "a/b", "a\0b"] {
            let mut nodes = nodes(Version::V2);
            nodes.truncate(1);
            nodes[0].name = name.into();
            let (contents, metadata) = encode(&nodes);
            assert_eq!(decode(&contents, &metadata), Err(Malformed), "{name:?}");
        }
    }
}
