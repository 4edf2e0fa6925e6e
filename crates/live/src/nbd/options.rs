//! The options that a client sends before it chooses its export, and their answers. Bytes in, bytes out: the
//! handshake owns the socket.

use super::export::Features;
use super::protocol::{
    ALLOCATION_CONTEXT, ALLOCATION_CONTEXT_ID, Fields, OPTION_REPLY_MAGIC, STRING_BYTES, info,
    option, option_reply, transmission_flag as flag,
};

/// The properties of the export that clients are told.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) size_bytes: u64,
    pub(super) features: Features,
    pub(super) largest_request_bytes: u32,
}

/// The smallest and the preferred request, in bytes.
const BLOCK_BYTES: [u32; 2] = [512, 4096];

/// The result of the negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Whether replies are structured.
    pub(super) structured: bool,
    /// Whether the client may ask which blocks are allocated.
    pub(super) allocation: bool,
}

/// The next step after an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Option,
    Transmission(Agreed),
    Close,
}

/// A negotiation with one client.
#[derive(Debug)]
pub(super) struct Negotiation<'a> {
    offer: &'a Offer,
    /// Whether the client wants no zeroes after the answer to EXPORT_NAME.
    no_zeroes: bool,
    structured: bool,
    /// The export name for which the client selected the context.
    selected: Option<Vec<u8>>,
}

/// Why an option is refused: the code and the text.
type Refusal = (u32, &'static str);

const MALFORMED: Refusal = (option_reply::ERR_INVALID, "the option's data has the wrong length");
const UNKNOWN_EXPORT: Refusal = (option_reply::ERR_UNKNOWN, "there is no export of this name");
pub(super) const TOO_BIG: Refusal =
    (option_reply::ERR_TOO_BIG, "the option has more data than this server reads");

impl<'a> Negotiation<'a> {
    pub(super) fn new(offer: &'a Offer, no_zeroes: bool) -> Self {
        Self { offer, no_zeroes, structured: false, selected: None }
    }

    /// Answers an option: appends the replies to `out`.
    pub(super) fn answer(&mut self, asked: u32, data: &[u8], out: &mut Vec<u8>) -> Next {
        let outcome = match asked {
            option::EXPORT_NAME => return self.export_name(data, out),
            option::ABORT => {
                reply(out, asked, option_reply::ACK, &[]);
                return Next::Close;
            }
            option::LIST => self.list(data, out),
            option::INFO | option::GO => self.info(asked, data, out),
            option::STRUCTURED_REPLY => self.structured_reply(data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                self.meta_context(asked, data, out)
            }
            option::STARTTLS => Err((option_reply::ERR_UNSUP, "this server has no TLS")),
            _ => Err((option_reply::ERR_UNSUP, "this server does not know the option")),
        };
        match outcome {
            Ok(next) => {
                reply(out, asked, option_reply::ACK, &[]);
                next
            }
            Err(refusal) => {
                refuse(out, asked, refusal);
                Next::Option
            }
        }
    }

    fn is_export(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.offer.name.as_bytes()
    }

    /// Returns what is agreed if the client chooses the export by this name. A context selected for another name does
    /// not count.
    fn agreed(&self, name: &[u8]) -> Agreed {
        Agreed { structured: self.structured, allocation: self.selected.as_deref() == Some(name) }
    }

    fn transmission_flags(&self) -> u16 {
        let features = self.offer.features;
        let mut flags = flag::HAS_FLAGS
            | flag::SEND_FLUSH
            | flag::SEND_FUA
            | flag::SEND_TRIM
            | flag::SEND_WRITE_ZEROES
            | flag::CAN_MULTI_CONN;
        for (set, flag) in [
            (self.structured, flag::SEND_DF),
            (features.rotational, flag::ROTATIONAL),
            (features.fast_zeroes, flag::SEND_FAST_ZERO),
        ] {
            flags |= if set { flag } else { 0 };
        }
        flags
    }

    /// Answers EXPORT_NAME, the only option that cannot be refused in words.
    fn export_name(&self, name: &[u8], out: &mut Vec<u8>) -> Next {
        if !self.is_export(name) {
            return Next::Close;
        }
        out.extend(self.offer.size_bytes.to_be_bytes());
        out.extend(self.transmission_flags().to_be_bytes());
        if !self.no_zeroes {
            out.extend([0; 124]);
        }
        Next::Transmission(self.agreed(name))
    }

    fn list(&self, data: &[u8], out: &mut Vec<u8>) -> Result<Next, Refusal> {
        if !data.is_empty() {
            return Err(MALFORMED);
        }
        let name = self.offer.name.as_bytes();
        let length = u32::try_from(name.len()).unwrap_or_default().to_be_bytes();
        reply(
            out,
            option::LIST,
            option_reply::SERVER,
            &[&length, name, self.offer.description.as_bytes()],
        );
        Ok(Next::Option)
    }

    fn info(&self, asked: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Next, Refusal> {
        let (name, wanted) = info_data(data).ok_or(MALFORMED)?;
        if !self.is_export(name) {
            return Err(UNKNOWN_EXPORT);
        }
        let offer = self.offer;
        let mut told = |kind: u16, content: &[&[u8]]| {
            reply(
                out,
                asked,
                option_reply::INFO,
                &[&[&kind.to_be_bytes() as &[u8]], content].concat(),
            );
        };
        told(
            info::EXPORT,
            &[&offer.size_bytes.to_be_bytes(), &self.transmission_flags().to_be_bytes()],
        );
        let [least, preferred] = BLOCK_BYTES.map(u32::to_be_bytes);
        told(info::BLOCK_SIZE, &[&least, &preferred, &offer.largest_request_bytes.to_be_bytes()]);
        if wanted.clone().any(|kind| kind == info::NAME) {
            told(info::NAME, &[offer.name.as_bytes()]);
        }
        if wanted.clone().any(|kind| kind == info::DESCRIPTION) && !offer.description.is_empty() {
            told(info::DESCRIPTION, &[offer.description.as_bytes()]);
        }
        Ok(if asked == option::GO { Next::Transmission(self.agreed(name)) } else { Next::Option })
    }

    fn structured_reply(&mut self, data: &[u8]) -> Result<Next, Refusal> {
        if !data.is_empty() {
            return Err(MALFORMED);
        }
        self.structured = true;
        Ok(Next::Option)
    }

    fn meta_context(
        &mut self,
        asked: u32,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next, Refusal> {
        let sets = asked == option::SET_META_CONTEXT;
        if sets {
            // Whatever the outcome, the earlier selection is void.
            self.selected = None;
        }
        if !self.structured {
            return Err((option_reply::ERR_INVALID, "structured replies must be negotiated first"));
        }
        let (name, queries) = context_data(data).ok_or(MALFORMED)?;
        if !self.is_export(name) {
            return Err(UNKNOWN_EXPORT);
        }
        if queries.iter().any(|query| !query.contains(&b':')) {
            return Err((
                option_reply::ERR_INVALID,
                "a query must begin with a namespace and a colon",
            ));
        }
        // No query, or one without a leaf, lists all contexts; it selects none.
        let named = queries.iter().any(|query| *query == ALLOCATION_CONTEXT.as_bytes());
        let all = queries.is_empty() || queries.iter().any(|query| *query == b"base:");
        if named || (all && !sets) {
            let id = if sets { ALLOCATION_CONTEXT_ID } else { 0 };
            reply(
                out,
                asked,
                option_reply::META_CONTEXT,
                &[&id.to_be_bytes(), ALLOCATION_CONTEXT.as_bytes()],
            );
            if sets {
                self.selected = Some(name.to_vec());
            }
        }
        Ok(Next::Option)
    }
}

/// Parses the data of INFO and GO: a name, and the information requested.
fn info_data(data: &[u8]) -> Option<(&[u8], impl Iterator<Item = u16> + Clone)> {
    let mut fields = Fields(data);
    let name = fields.string().filter(|name| name.len() <= STRING_BYTES)?;
    let count = usize::from(fields.u16()?);
    let kinds = fields.0;
    (kinds.len() == 2 * count).then_some(())?;
    Some((name, kinds.chunks_exact(2).map(|kind| u16::from_be_bytes([kind[0], kind[1]]))))
}

/// Parses the data of LIST_META_CONTEXT and SET_META_CONTEXT: a name and queries.
fn context_data(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut fields = Fields(data);
    let name = fields.string().filter(|name| name.len() <= STRING_BYTES)?;
    let count = fields.u32()?;
    // Every query takes at least its length field, so a count beyond the data ends here and reserves no memory.
    let queries = (0..count).map_while(|_| fields.string()).collect::<Vec<_>>();
    (queries.len() == count as usize && fields.0.is_empty()).then_some((name, queries))
}

/// Appends a reply to an option.
fn reply(out: &mut Vec<u8>, asked: u32, kind: u32, content: &[&[u8]]) {
    let bytes = content.iter().map(|part| part.len()).sum::<usize>();
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(asked.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(u32::try_from(bytes).unwrap_or_default().to_be_bytes());
    content.iter().for_each(|part| out.extend(*part));
}

/// Appends an error, with a text for people.
pub(super) fn refuse(out: &mut Vec<u8>, asked: u32, (kind, why): Refusal) {
    reply(out, asked, kind, &[why.as_bytes()]);
}
