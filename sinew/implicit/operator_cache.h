#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sinew/implicit/operator_table.h>

namespace sinew {

/// Names a table by all that determines it: its spec and the version of the method that builds it. Tables
/// with the same key are the same; it may be part of a file's name. The spec's profile may be any.
std::string content_key(const OperatorTableSpec& spec);

/// The table, with its spec, its key and a checksum.
std::vector<std::byte> to_bytes(const OperatorTable& table);

/// What to_bytes() made. Throws Error for anything else: other formats, tables of another version of the
/// method, damaged or incomplete bytes, invalid specs, values that no table has.
OperatorTable from_bytes(std::span<const std::byte> bytes);

}  // namespace sinew
