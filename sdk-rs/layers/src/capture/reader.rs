//! Reads the file of a capture.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use tenon::support::Mutex;

use tenon::device::Function;

use super::call::{Arrival, Call, ContentId, ObjectId, Outcome};
use super::check::{self, Block, Checker, Object};
use super::format::{Decoder, HEAD, Hash, MAGIC, RECORD_HEAD, RecordKind, VERSION, checksum};

/// The most bytes behind a record that is cut off in which further records are looked for.
const MOST_SEARCHED: u64 = 64 << 20;
/// The most bytes whose checksum is computed there.
const MOST_SUMMED: usize = 256 << 20;

/// A file that is not a capture, or is damaged.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system cannot read it.
    #[error("cannot read {}: {source}", file.display())]
    System {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It begins differently.
    #[error("{} is not a capture; TENON_LAYERS=capture makes one", file.display())]
    NotACapture {
        /// The file.
        file: PathBuf,
    },
    /// It has another version.
    #[error("{} has version {version} of the format, but this release reads version {VERSION}", file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A record does not match its checksum, or contradicts others.
    #[error("{} is damaged at byte {at}: {problem}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The position of the record.
        at: u64,
        /// The reason.
        problem: String,
    },
    /// A call of a function that this release does not have with these parameters.
    #[error(
        "{} has calls of `{function}`, which this release of Tenon does not have in that form; the capture is of an \
         interface for release {release}",
        file.display()
    )]
    UnknownFunction {
        /// The file.
        file: PathBuf,
        /// The function.
        function: String,
        /// The newest release of the interface that recorded it.
        release: String,
    },
}

/// An entry of a capture, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call, by its index in [`Recording::calls`].
    Call(usize),
    /// The return of a call, by its index.
    Return(usize),
    /// The completion of a copy to the host.
    Arrival(Arrival),
}

/// The place of recorded bytes in the file.
#[derive(Clone, Copy, Debug)]
struct Content {
    hash: Hash,
    length: u64,
    at: u64,
    stored: usize,
}

/// A capture.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: Mutex<File>,
    /// The newest release of the interface that recorded it.
    pub release: String,
    /// The names of the plugins, by number.
    pub plugins: Vec<String>,
    /// The calls in the order in which they began.
    pub calls: Vec<Call>,
    /// All entries in the order of time.
    pub events: Vec<Event>,
    contents: Vec<Content>,
    objects: HashMap<ObjectId, Object>,
    /// False if the program ended without ending the capture, for example by a crash.
    pub is_ended: bool,
    /// The number of bytes at the end of the file that belong to a record which is cut off.
    pub cut_off: u64,
}

/// The state of reading.
struct Reader<'a> {
    path: &'a Path,
    input: BufReader<File>,
    /// The start of the last record, and of the next one.
    start: u64,
    at: u64,
    length: u64,
    names: Vec<String>,
    functions: Vec<Option<Function>>,
    /// The index of each call by its number.
    indices: HashMap<u64, usize>,
    checker: Checker,
}

impl Recording {
    /// Reads the file of a capture. A file that is cut off, as by a crash, is read up to there.
    ///
    /// # Errors
    /// If the file cannot be read, is not a capture, or is damaged.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let system = |source| ReadError::System { file: path.to_owned(), source };
        let file = tenon_files::open(path).map_err(|error| system(error.into()))?;
        let length = file.metadata().map_err(system)?.len();
        let mut recording = Self {
            path: path.to_owned(),
            file: Mutex::new(file.try_clone().map_err(system)?),
            release: String::new(),
            plugins: Vec::new(),
            calls: Vec::new(),
            events: Vec::new(),
            contents: Vec::new(),
            objects: HashMap::new(),
            is_ended: false,
            cut_off: 0,
        };
        let mut reader = Reader {
            path,
            input: BufReader::new(file),
            start: 0,
            at: 0,
            length,
            names: Vec::new(),
            functions: Vec::new(),
            indices: HashMap::new(),
            checker: Checker::default(),
        };
        reader.head()?;
        while let Some((kind, content)) = reader.record()? {
            let at = reader.at - content.len() as u64;
            recording.add(&mut reader, kind, at, &content)?;
        }
        recording.cut_off = length - reader.at;
        if reader.names.is_empty() {
            return Err(reader.damaged("it has no description of the interface"));
        }
        recording.objects = reader.checker.into_objects();
        Ok(recording)
    }

    /// Returns the number of different contents.
    pub fn content_count(&self) -> usize {
        self.contents.len()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length of recorded bytes; 0 for an unknown number.
    pub fn content_length(&self, id: ContentId) -> u64 {
        self.contents.get(id as usize).map_or(0, |content| content.length)
    }

    /// Returns the memory with a number of an object.
    pub(super) fn block(&self, id: ObjectId) -> Option<&Block> {
        match self.objects.get(&id)? {
            Object::Block(block) => Some(block),
            Object::Handle(_) => None,
        }
    }

    /// Reads recorded bytes in the form in which the file has them: their hash, their length and the bytes, which may be
    /// compressed.
    pub(super) fn stored(&self, id: ContentId) -> Result<(Hash, u64, Vec<u8>), ReadError> {
        let content =
            self.contents.get(id as usize).ok_or_else(|| self.damaged(0, "a content is missing"))?;
        let mut stored = vec![0; content.stored];
        let mut file = self.file.lock();
        let read = file.seek(SeekFrom::Start(content.at)).and_then(|_| file.read_exact(&mut stored));
        read.map_err(|source| ReadError::System { file: self.path.clone(), source })?;
        Ok((content.hash, content.length, stored))
    }

    fn damaged(&self, at: u64, problem: &str) -> ReadError {
        ReadError::Damaged { file: self.path.clone(), at, problem: problem.to_owned() }
    }

    /// Reads recorded bytes. They may be 255 times as many as in the file, so call it when a call needs them.
    ///
    /// # Errors
    /// If the file cannot be read, or has changed.
    pub fn content(&self, id: ContentId) -> Result<Vec<u8>, ReadError> {
        let (hash, length, stored) = self.stored(id)?;
        let at = self.contents[id as usize].at;
        let bytes = if length == stored.len() as u64 {
            stored
        } else {
            // The length was compared with the stored one when the file was opened, so it fits.
            lz4_flex::block::decompress(&stored, length as usize)
                .map_err(|error| self.damaged(at, &error.to_string()))?
        };
        if Hash::of(&bytes) == hash && bytes.len() as u64 == length {
            Ok(bytes)
        } else {
            Err(self.damaged(at, "a content does not match its hash"))
        }
    }

    fn add(
        &mut self,
        reader: &mut Reader<'_>,
        kind: RecordKind,
        at: u64,
        content: &[u8],
    ) -> Result<(), ReadError> {
        let mut decoder = Decoder(content);
        let (path, start) = (reader.path, reader.start);
        let because = |problem: String| ReadError::Damaged { file: path.to_owned(), at: start, problem };
        let damaged = || because("a record is too short or contradicts others".to_owned());
        let is_first = reader.names.is_empty();
        if is_first != (kind == RecordKind::Interface) || self.is_ended {
            return Err(because("its records are in the wrong order".to_owned()));
        }
        match kind {
            RecordKind::Interface => {
                self.release = decoder.text().ok_or_else(damaged)?;
                let count = decoder.int().ok_or_else(damaged)?;
                let names =
                    (0..count).map(|_| decoder.text()).collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
                reader.functions = names.iter().map(|name| Function::of_name(name)).collect();
                reader.names = names;
            }
            RecordKind::Plugin => {
                let number = decoder.int().filter(|number| *number as usize == self.plugins.len());
                number.ok_or_else(damaged)?;
                self.plugins.push(decoder.text().ok_or_else(damaged)?);
            }
            RecordKind::Content => {
                let (hash, length) = decoder.hash().zip(decoder.long()).ok_or_else(damaged)?;
                let stored = decoder.0.len();
                // A byte of LZ4 yields at most 255 bytes.
                let most = (stored as u64).saturating_mul(255).saturating_add(64);
                if length > most || usize::try_from(length).is_err() || length < stored as u64 {
                    return Err(damaged());
                }
                let at = at + (content.len() - stored) as u64;
                self.contents.push(Content { hash, length, at, stored });
                decoder.0 = &[];
            }
            RecordKind::Call => {
                let call = Call::decode(&mut decoder, &reader.functions).ok_or_else(damaged)?;
                let call = call.map_err(|function| ReadError::UnknownFunction {
                    file: self.path.clone(),
                    function: reader.names.get(function as usize).cloned().unwrap_or_default(),
                    release: self.release.clone(),
                })?;
                if self.are_contents_unknown(&call) || call.plugin as usize >= self.plugins.len() {
                    return Err(damaged());
                }
                reader.checker.call(&call).map_err(because)?;
                reader.indices.insert(call.number, self.calls.len());
                self.events.push(Event::Call(self.calls.len()));
                self.calls.push(call);
            }
            RecordKind::Outcome => {
                let (number, outcome) = Outcome::decode(&mut decoder).ok_or_else(damaged)?;
                let index = *reader.indices.get(&number).ok_or_else(damaged)?;
                reader.checker.outcome(&self.calls[index], &outcome).map_err(because)?;
                self.calls[index].outcome = Some(outcome);
                self.events.push(Event::Return(index));
            }
            RecordKind::Arrival => {
                let arrival = Arrival::decode(&mut decoder).ok_or_else(damaged)?;
                let index = *reader.indices.get(&arrival.call).ok_or_else(damaged)?;
                check::arrival(&self.calls[index], &arrival).map_err(because)?;
                self.events.push(Event::Arrival(arrival));
            }
            RecordKind::End => self.is_ended = true,
        }
        match decoder.0 {
            [] => Ok(()),
            _ => Err(because("a record is too long".to_owned())),
        }
    }

    fn are_contents_unknown(&self, call: &Call) -> bool {
        call.arguments.iter().any(|argument| match argument {
            super::Argument::Source { content: Some(id), length, .. } => {
                self.contents.get(*id as usize).is_none_or(|content| content.length != *length)
            }
            _ => false,
        })
    }
}

impl Reader<'_> {
    fn damaged(&self, problem: &str) -> ReadError {
        ReadError::Damaged { file: self.path.to_owned(), at: self.start, problem: problem.to_owned() }
    }

    fn system(&self, source: io::Error) -> ReadError {
        ReadError::System { file: self.path.to_owned(), source }
    }

    fn head(&mut self) -> Result<(), ReadError> {
        let mut head = [0; HEAD];
        let not_a_capture = || ReadError::NotACapture { file: self.path.to_owned() };
        if self.length < HEAD as u64 {
            return Err(not_a_capture());
        }
        self.input.read_exact(&mut head).map_err(|source| self.system(source))?;
        let (magic, version) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(not_a_capture());
        }
        let version = version.iter().rev().fold(0, |version, byte| version << 8 | u32::from(*byte));
        if version != VERSION {
            return Err(ReadError::Version { file: self.path.to_owned(), version });
        }
        self.at = HEAD as u64;
        Ok(())
    }

    /// Returns the next record; `None` at the end, or if the rest is cut off.
    fn record(&mut self) -> Result<Option<(RecordKind, Vec<u8>)>, ReadError> {
        self.start = self.at;
        let left = self.length - self.at;
        if left < RECORD_HEAD as u64 {
            return Ok(None);
        }
        let mut head = [0; RECORD_HEAD];
        self.input.read_exact(&mut head).map_err(|source| self.system(source))?;
        let mut decoder = Decoder(&head);
        // The head has these three numbers.
        let (Some(kind), Some(length), Some(sum)) = (decoder.byte(), decoder.long(), decoder.int()) else {
            return Ok(None);
        };
        let Some(known) = RecordKind::of(kind) else {
            return Err(self.damaged("it has an unknown kind of record"));
        };
        if length > left - RECORD_HEAD as u64 {
            return if self.is_length_damaged(known, sum)? {
                Err(self.damaged("the length of a record is wrong"))
            } else {
                Ok(None)
            };
        }
        let mut content = vec![0; length as usize];
        self.input.read_exact(&mut content).map_err(|source| self.system(source))?;
        if checksum(kind, &content) != sum {
            return Err(self.damaged("a record does not match its checksum"));
        }
        self.at += RECORD_HEAD as u64 + length;
        Ok(Some((known, content)))
    }

    /// Returns true if a record that ends behind the file has a wrong length: the file is not cut off then.
    ///
    /// The rest of a file that is cut off is the beginning of one record. Where it matches the checksum as it is, or
    /// has a whole record in it, it is more than that.
    fn is_length_damaged(&mut self, kind: RecordKind, sum: u32) -> Result<bool, ReadError> {
        let mut rest = Vec::new();
        let read = (&mut self.input).take(MOST_SEARCHED).read_to_end(&mut rest);
        read.map_err(|source| self.system(source))?;
        let is_all = (rest.len() as u64) < MOST_SEARCHED;
        if kind == RecordKind::End || (is_all && checksum(kind as u8, &rest) == sum) {
            return Ok(true);
        }
        let mut summed = 0;
        for at in 0..rest.len() {
            let mut decoder = Decoder(&rest[at..]);
            let Some(kind) = decoder.byte().filter(|kind| RecordKind::of(*kind).is_some()) else { continue };
            let (Some(length), Some(sum)) = (decoder.long(), decoder.int()) else { break };
            let content = usize::try_from(length).ok().and_then(|length| decoder.0.get(..length));
            let Some(content) = content else { continue };
            summed += content.len();
            if summed > MOST_SUMMED {
                break;
            }
            if checksum(kind, content) == sum {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
