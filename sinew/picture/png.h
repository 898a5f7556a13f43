#pragma once

#include <filesystem>
#include <vector>

#include <sinew/picture/image.h>

namespace sinew {

/// The image as a PNG file's bytes: 8-bit RGB, sRGB marked, no time stamp: the same pixels give the same
/// bytes. Throws Error when libpng fails.
std::vector<std::byte> encode_png(const Image& image);

/// Writes the file whole or not at all. Throws Error.
void write_png(const Image& image, const std::filesystem::path& path);

}  // namespace sinew
