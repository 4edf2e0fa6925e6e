//! The options that a client sends before it chooses its export, and their answers. Bytes in, bytes out: the
//! handshake owns the socket.

use std::sync::Arc;

use strewn_base::SECTOR_BYTES;

use super::export::{Export, Features};
use super::exports::{ExportEntry, Exports};
use super::limits::Limits;
use super::protocol::{
    ALLOCATION_CONTEXT, ALLOCATION_CONTEXT_ID, Fields, OPTION_REPLY_MAGIC, STRING_BYTES, info,
    option, option_reply, transmission_flag as flag,
};
use super::server_error::ServerError;

/// The properties of an export that clients are told.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) size_bytes: u64,
    pub(super) features: Features,
    pub(super) is_read_only: bool,
    pub(super) largest_request_bytes: u32,
}

impl Offer {
    /// Returns what clients are told of `export`.
    ///
    /// # Errors
    ///
    /// If the protocol cannot carry it.
    pub(super) fn new(export: &dyn Export, limits: &Limits) -> Result<Self, ServerError> {
        let size_bytes = export.size_bytes();
        if !size_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(ServerError::Size(size_bytes));
        }
        for (what, text) in [("name", export.name()), ("description", export.description())] {
            if !is_carried(text) {
                return Err(ServerError::Text(what));
            }
        }
        Ok(Self {
            name: export.name().into(),
            description: export.description().into(),
            size_bytes,
            features: export.features(),
            is_read_only: export.is_read_only(),
            largest_request_bytes: limits.largest_request_bytes,
        })
    }
}

/// Returns whether the protocol can carry a name or a description.
fn is_carried(text: &str) -> bool {
    text.len() <= STRING_BYTES && !text.contains('\0')
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

/// The export that a client chose, and how it is served.
pub(super) struct Chosen {
    pub(super) export: Arc<dyn Export>,
    pub(super) offer: Offer,
    pub(super) agreed: Agreed,
}

/// The next step after an option.
pub(super) enum Next {
    Option,
    Transmission(Box<Chosen>),
    Close,
}

/// A negotiation with one client.
pub(super) struct Negotiation<'a> {
    exports: &'a dyn Exports,
    limits: &'a Limits,
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
    pub(super) fn new(exports: &'a dyn Exports, limits: &'a Limits, no_zeroes: bool) -> Self {
        Self { exports, limits, no_zeroes, structured: false, selected: None }
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

    /// Returns the export that the client would choose by this name. A context selected for another name does not
    /// count.
    fn find(&self, name: &[u8]) -> Option<Chosen> {
        let export = self.exports.find(std::str::from_utf8(name).ok()?)?;
        // One that became unusable is as good as gone.
        let offer = Offer::new(&*export, self.limits).ok()?;
        let allocation = self.selected.as_deref() == Some(name);
        Some(Chosen { export, offer, agreed: Agreed { structured: self.structured, allocation } })
    }

    fn transmission_flags(&self, offer: &Offer) -> u16 {
        let features = offer.features;
        let mut flags = flag::HAS_FLAGS | flag::SEND_FLUSH | flag::SEND_FUA | flag::CAN_MULTI_CONN;
        let is_writable = !offer.is_read_only;
        for (set, flag) in [
            (self.structured, flag::SEND_DF),
            (features.rotational, flag::ROTATIONAL),
            (offer.is_read_only, flag::READ_ONLY),
            (is_writable, flag::SEND_TRIM),
            (is_writable, flag::SEND_WRITE_ZEROES),
            (is_writable && features.fast_zeroes, flag::SEND_FAST_ZERO),
        ] {
            flags |= if set { flag } else { 0 };
        }
        flags
    }

    /// Answers EXPORT_NAME, the only option that cannot be refused in words.
    fn export_name(&self, name: &[u8], out: &mut Vec<u8>) -> Next {
        let Some(chosen) = self.find(name) else { return Next::Close };
        out.extend(chosen.offer.size_bytes.to_be_bytes());
        out.extend(self.transmission_flags(&chosen.offer).to_be_bytes());
        if !self.no_zeroes {
            out.extend([0; 124]);
        }
        Next::Transmission(Box::new(chosen))
    }

    fn list(&self, data: &[u8], out: &mut Vec<u8>) -> Result<Next, Refusal> {
        if !data.is_empty() {
            return Err(MALFORMED);
        }
        for ExportEntry { name, description } in self.exports.list() {
            if is_carried(&name) && is_carried(&description) {
                let length = u32::try_from(name.len()).unwrap_or_default().to_be_bytes();
                let content: [&[u8]; 3] = [&length, name.as_bytes(), description.as_bytes()];
                reply(out, option::LIST, option_reply::SERVER, &content);
            }
        }
        Ok(Next::Option)
    }

    fn info(&self, asked: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Next, Refusal> {
        let (name, wanted) = info_data(data).ok_or(MALFORMED)?;
        let chosen = self.find(name).ok_or(UNKNOWN_EXPORT)?;
        let offer = &chosen.offer;
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
            &[&offer.size_bytes.to_be_bytes(), &self.transmission_flags(offer).to_be_bytes()],
        );
        let [least, preferred] = BLOCK_BYTES.map(u32::to_be_bytes);
        told(info::BLOCK_SIZE, &[&least, &preferred, &offer.largest_request_bytes.to_be_bytes()]);
        if wanted.clone().any(|kind| kind == info::NAME) {
            told(info::NAME, &[offer.name.as_bytes()]);
        }
        if wanted.clone().any(|kind| kind == info::DESCRIPTION) && !offer.description.is_empty() {
            told(info::DESCRIPTION, &[offer.description.as_bytes()]);
        }
        Ok(match asked {
            option::GO => Next::Transmission(Box::new(chosen)),
            _ => Next::Option,
        })
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
        if self.find(name).is_none() {
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
