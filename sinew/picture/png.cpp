#include <sinew/picture/png.h>

#include <cassert>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <png.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>

namespace sinew {

namespace {

struct Sink {
  std::vector<std::byte> bytes;
  std::string failure;
};

// libpng is C: what an error calls must not return, and an exception may not pass through its frames, which
// keep what they allocated in the write struct. Therefore setjmp, with nothing to destroy in between.
bool encode(const Image& image, std::vector<png_bytep>& rows, Sink& sink) {
  const auto on_error = [](png_structp png, png_const_charp message) {
    static_cast<Sink*>(png_get_error_ptr(png))->failure = message;
    png_longjmp(png, 1);
  };
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, on_error, [](png_structp, png_const_charp) {});
  if (png == nullptr) return false;
  png_infop info = png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_set_write_fn(
      png, &sink,
      [](png_structp writer, png_bytep data, png_size_t size) {
        auto& bytes = static_cast<Sink*>(png_get_io_ptr(writer))->bytes;
        const auto* first = reinterpret_cast<const std::byte*>(data);
        bytes.insert(bytes.end(), first, first + size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_set_compression_level(png, 6);
  png_write_info(png, info);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return true;
}

}  // namespace

std::vector<std::byte> encode_png(const Image& image) {
  static_assert(sizeof(Rgb) == 3);
  assert(image.width > 0 && image.height > 0);
  std::vector<png_bytep> rows;
  for (int y = 0; y < image.height; ++y)
    rows.push_back(const_cast<png_bytep>(reinterpret_cast<png_const_bytep>(&image.at(0, y))));
  Sink sink;
  if (!encode(image, rows, sink))
    throw Error(fmt::format("libpng cannot write a picture of {} × {} pixels{}{}", image.width, image.height,
                            sink.failure.empty() ? "" : ": ", sink.failure));
  return std::move(sink.bytes);
}

void write_png(const Image& image, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(encode_png(image));
  file.commit();
}

}  // namespace sinew
