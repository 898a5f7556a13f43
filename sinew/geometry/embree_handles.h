#pragma once

#include <memory>

#include <embree3/rtcore.h>

/// Embree's device and scene with owners. Private: users of Sinew need not have Embree's headers.
namespace sinew {

struct CloseDevice {
  void operator()(RTCDevice device) const { rtcReleaseDevice(device); }
};
struct CloseScene {
  void operator()(RTCScene scene) const { rtcReleaseScene(scene); }
};
using EmbreeDevice = std::unique_ptr<RTCDeviceTy, CloseDevice>;
using EmbreeScene = std::unique_ptr<RTCSceneTy, CloseScene>;

}  // namespace sinew
