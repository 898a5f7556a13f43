#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <sinew/picture/image.h>

namespace sinew {

/// The format's limit, pixels.
inline constexpr int kMostWebpSide = 16383;

struct WebpOptions {
  float quality = 82;  ///< 0 to 100; 100 is without loss
  int effort = 3;      ///< 0 fast to 6 small
};

/// Makes an animated WebP that plays for ever, frame after frame; keeps only what is encoded. Throws Error
/// when libwebp fails or a frame has another size than the animation.
class WebpAnimation {
 public:
  /// Sides are at most kMostWebpSide pixels.
  WebpAnimation(int width, int height, const WebpOptions& options = {});
  WebpAnimation(WebpAnimation&&) noexcept;
  WebpAnimation& operator=(WebpAnimation&&) noexcept;
  ~WebpAnimation();

  /// `seconds` is how long the frame stays. Times add up without drift, though the format counts whole
  /// milliseconds.
  void add(const Image& frame, double seconds);
  /// The file's bytes; call it once, after at least one frame.
  std::vector<std::byte> finish();

 private:
  struct Encoder;
  std::unique_ptr<Encoder> encoder_;
};

/// Finishes the animation and writes it, whole or not at all.
void write_webp(WebpAnimation& animation, const std::filesystem::path& path);

/// One still picture.
std::vector<std::byte> encode_webp(const Image& image, const WebpOptions& options = {});

}  // namespace sinew
