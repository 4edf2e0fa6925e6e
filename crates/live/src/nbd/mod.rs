//! The LUN over a network block device (NBD) connection.
