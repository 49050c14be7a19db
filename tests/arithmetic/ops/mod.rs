//! What stands between the products: the special function unit and libdevice against published counts.

mod mufu;
