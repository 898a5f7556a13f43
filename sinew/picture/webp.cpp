#include <sinew/picture/webp.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>

namespace sinew {

namespace {

struct FreePicture {
  WebPPicture picture{};
  ~FreePicture() { WebPPictureFree(&picture); }
};

struct FreeData {
  WebPData data{};
  ~FreeData() { WebPDataClear(&data); }
};

struct CloseEncoder {
  void operator()(WebPAnimEncoder* encoder) const { WebPAnimEncoderDelete(encoder); }
};

static_assert(kMostWebpSide == WEBP_MAX_DIMENSION);

void check_size(int width, int height) {
  if (width < 1 || height < 1 || width > kMostWebpSide || height > kMostWebpSide)
    throw Error(fmt::format("a WebP picture cannot have {} × {} pixels: each side has 1 to {}", width, height,
                            kMostWebpSide));
}

WebPConfig make_config(const WebpOptions& options) {
  WebPConfig config;
  if (WebPConfigInit(&config) == 0) throw Error("libwebp: wrong version");
  config.quality = std::clamp(options.quality, 0.0f, 100.0f);
  config.method = std::clamp(options.effort, 0, 6);
  config.lossless = options.quality >= 100 ? 1 : 0;
  config.exact = config.lossless;
  return config;
}

void import(const Image& image, FreePicture& holder, bool lossless) {
  if (WebPPictureInit(&holder.picture) == 0) throw Error("libwebp: wrong version");
  holder.picture.width = image.width;
  holder.picture.height = image.height;
  holder.picture.use_argb = lossless ? 1 : 0;
  if (WebPPictureImportRGB(&holder.picture, reinterpret_cast<const std::uint8_t*>(image.pixels.data()),
                           3 * image.width) == 0)
    throw Error(
        fmt::format("libwebp: not enough memory for a picture of {} × {}", image.width, image.height));
}

}  // namespace

struct WebpAnimation::Encoder {
  std::unique_ptr<WebPAnimEncoder, CloseEncoder> webp;
  WebPConfig config;
  int width, height;
  int frames = 0;
  double seconds = 0;

  int timestamp() const { return static_cast<int>(std::lround(1000 * seconds)); }
};

WebpAnimation::WebpAnimation(int width, int height, const WebpOptions& options)
    : encoder_(std::make_unique<Encoder>()) {
  check_size(width, height);
  WebPAnimEncoderOptions settings;
  if (WebPAnimEncoderOptionsInit(&settings) == 0) throw Error("libwebp: wrong version");
  settings.anim_params.loop_count = 0;
  encoder_->config = make_config(options);
  encoder_->width = width;
  encoder_->height = height;
  encoder_->webp.reset(WebPAnimEncoderNew(width, height, &settings));
  if (!encoder_->webp) throw Error("libwebp: cannot start an animation");
}

WebpAnimation::WebpAnimation(WebpAnimation&&) noexcept = default;
WebpAnimation& WebpAnimation::operator=(WebpAnimation&&) noexcept = default;
WebpAnimation::~WebpAnimation() = default;

void WebpAnimation::add(const Image& frame, double seconds) {
  if (frame.width != encoder_->width || frame.height != encoder_->height)
    throw Error(fmt::format("frame {} has {} × {} pixels, the animation {} × {}", encoder_->frames,
                            frame.width, frame.height, encoder_->width, encoder_->height));
  FreePicture holder;
  import(frame, holder, true);
  if (WebPAnimEncoderAdd(encoder_->webp.get(), &holder.picture, encoder_->timestamp(), &encoder_->config) ==
      0)
    throw Error(fmt::format("libwebp: frame {}: {}", encoder_->frames,
                            WebPAnimEncoderGetError(encoder_->webp.get())));
  ++encoder_->frames;
  encoder_->seconds += seconds;
}

std::vector<std::byte> WebpAnimation::finish() {
  if (encoder_->frames == 0) throw Error("an animation needs at least one frame");
  FreeData made;
  if (WebPAnimEncoderAdd(encoder_->webp.get(), nullptr, encoder_->timestamp(), nullptr) == 0 ||
      WebPAnimEncoderAssemble(encoder_->webp.get(), &made.data) == 0)
    throw Error(fmt::format("libwebp: cannot finish: {}", WebPAnimEncoderGetError(encoder_->webp.get())));
  const auto* bytes = reinterpret_cast<const std::byte*>(made.data.bytes);
  return {bytes, bytes + made.data.size};
}

void write_webp(WebpAnimation& animation, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(animation.finish());
  file.commit();
}

std::vector<std::byte> encode_webp(const Image& image, const WebpOptions& options) {
  check_size(image.width, image.height);
  const WebPConfig config = make_config(options);
  FreePicture holder;
  import(image, holder, config.lossless != 0);
  struct Sink {
    std::vector<std::byte> bytes;
  } sink;
  holder.picture.custom_ptr = &sink;
  holder.picture.writer = [](const std::uint8_t* data, std::size_t size, const WebPPicture* picture) {
    auto& bytes = static_cast<Sink*>(picture->custom_ptr)->bytes;
    const auto* first = reinterpret_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + size);
    return 1;
  };
  if (WebPEncode(&config, &holder.picture) == 0)
    throw Error(
        fmt::format("libwebp: cannot encode (error {})", static_cast<int>(holder.picture.error_code)));
  return std::move(sink.bytes);
}

}  // namespace sinew
