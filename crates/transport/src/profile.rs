//! Links by their standards.

use strewn_base::state::SavedValue;

/// How a link cuts what it carries into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub enum Framing {
    /// A TCP byte stream in segments: PDUs share segments, and only the last frame of a train is short.
    Segments,
    /// Fibre Channel sequences: each part of a train is a sequence of its own, and its last frame is short.
    Sequences,
}

/// A kind of link.
#[derive(Clone, Debug, PartialEq, Eq, SavedValue)]
pub struct LinkProfile {
    /// Its name.
    pub name: String,
    /// Bits per second after line coding.
    pub bits_per_second: u64,
    /// How trains are cut into frames.
    pub framing: Framing,
    /// Bytes that a frame carries. With [`Framing::Segments`] they include the headers of IP and TCP: the MTU.
    pub frame_payload_bytes: u32,
    /// Bytes on the wire around a frame's payload, the gap to the next frame included.
    pub frame_overhead_bytes: u32,
    /// Nanoseconds from one end to the other: 5 ns per metre of fibre or copper.
    pub propagation_ns: u64,
    /// Fibre Channel: frames that may be on the way before the receiver has a free buffer again. `None` never binds.
    pub buffer_credits: Option<u32>,
}

/// 10 m of cable at two thirds of the speed of light. Chosen; 50 ns change no figure that anybody prints.
const MACHINE_ROOM_NS: u64 = 50;

/// FC-FS: SOF 4, header 24, CRC 4, EOF 4, and six fill words between frames.
const FIBRE_CHANNEL_OVERHEAD: u32 = 36 + 24;
/// What HBAs send in a frame of at most 2,112 bytes: sectors, and room for optional headers.
const FIBRE_CHANNEL_PAYLOAD: u32 = 2_048;
/// IEEE 802.3: preamble and start delimiter 8, header 14, frame check sequence 4, gap 12.
const ETHERNET_OVERHEAD: u32 = 8 + 14 + 4 + 12;
/// RFC 4391, datagram mode with an InfiniBand MTU of 2,048, less the 4 bytes of the encapsulation header.
const INFINIBAND_PAYLOAD: u32 = 2_044;
/// InfiniBand Architecture 1.2: LRH 8, BTH 12, DETH 8, ICRC 4, VCRC 2; and the encapsulation header, 4 (RFC 4391).
const INFINIBAND_OVERHEAD: u32 = 8 + 12 + 8 + 4 + 2 + 4;

/// Name, bits per second, framing, frame payload and overhead of each link that ships.
const SHIPPED: [(&str, u64, Framing, u32, u32); 11] = [
    // FC-PI: 1.0625, 2.125, 4.25 and 8.5 GBd with 8b/10b coding.
    ("fc-1g", 850_000_000, Framing::Sequences, FIBRE_CHANNEL_PAYLOAD, FIBRE_CHANNEL_OVERHEAD),
    ("fc-2g", 1_700_000_000, Framing::Sequences, FIBRE_CHANNEL_PAYLOAD, FIBRE_CHANNEL_OVERHEAD),
    ("fc-4g", 3_400_000_000, Framing::Sequences, FIBRE_CHANNEL_PAYLOAD, FIBRE_CHANNEL_OVERHEAD),
    ("fc-8g", 6_800_000_000, Framing::Sequences, FIBRE_CHANNEL_PAYLOAD, FIBRE_CHANNEL_OVERHEAD),
    // IEEE 802.3 clauses 24 (100BASE-X), 36 (1000BASE-X), 49 (10GBASE-R): the MAC's rate, whatever the line coding.
    ("ethernet-100m", 100_000_000, Framing::Segments, 1_500, ETHERNET_OVERHEAD),
    ("ethernet-100m-jumbo", 100_000_000, Framing::Segments, 9_000, ETHERNET_OVERHEAD),
    ("ethernet-1g", 1_000_000_000, Framing::Segments, 1_500, ETHERNET_OVERHEAD),
    ("ethernet-1g-jumbo", 1_000_000_000, Framing::Segments, 9_000, ETHERNET_OVERHEAD),
    ("ethernet-10g", 10_000_000_000, Framing::Segments, 1_500, ETHERNET_OVERHEAD),
    ("ethernet-10g-jumbo", 10_000_000_000, Framing::Segments, 9_000, ETHERNET_OVERHEAD),
    // InfiniBand Architecture 1.2: four lanes of 5 GBd with 8b/10b coding. What it carries here is IP.
    ("infiniband-ddr", 16_000_000_000, Framing::Segments, INFINIBAND_PAYLOAD, INFINIBAND_OVERHEAD),
];

impl LinkProfile {
    /// The shipped link `name`, 10 m long; `None` if there is none. The crate's front page has a table of all.
    #[must_use]
    pub fn shipped(name: &str) -> Option<Self> {
        SHIPPED.iter().find(|shipped| shipped.0 == name).map(
            |&(name, bits_per_second, framing, frame_payload_bytes, frame_overhead_bytes)| Self {
                name: name.to_owned(),
                bits_per_second,
                framing,
                frame_payload_bytes,
                frame_overhead_bytes,
                propagation_ns: MACHINE_ROOM_NS,
                buffer_credits: None,
            },
        )
    }

    /// The names that [`shipped`](Self::shipped) knows.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|shipped| shipped.0)
    }

    /// Payload bytes per second of full frames, if each also carries `header_bytes` of TCP and IP.
    ///
    /// ```
    /// use strewn_transport::LinkProfile;
    ///
    /// let fibre_channel = LinkProfile::shipped("fc-2g").ok_or("not shipped")?;
    /// assert_eq!(fibre_channel.payload_bytes_per_second(0), 206_451_612);
    /// let ethernet = LinkProfile::shipped("ethernet-1g").ok_or("not shipped")?;
    /// assert_eq!(ethernet.payload_bytes_per_second(40), 118_660_598); // 94.9 % of 125 MB/s
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn payload_bytes_per_second(&self, header_bytes: u32) -> u64 {
        let payload = u128::from(self.frame_payload_bytes.saturating_sub(header_bytes));
        let on_the_wire = u128::from(self.full_frame_bytes()).max(1);
        (u128::from(self.bits_per_second) * payload / (8 * on_the_wire)) as u64
    }

    /// Bytes of a full frame on the wire.
    pub(crate) fn full_frame_bytes(&self) -> u64 {
        u64::from(self.frame_payload_bytes) + u64::from(self.frame_overhead_bytes)
    }
}
