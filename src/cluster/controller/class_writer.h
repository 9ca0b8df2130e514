// Makes the DeviceClasses of the pools that nodes serve by DRA, so that nobody writes them by hand:
// one for each pool, under which pods may also ask for the pool's resource as before
// (extendedResourceName), and NVIDIA's names for all GPUs and all MIG devices.
#pragma once

#include <boost/json/object.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::controller {

// The part of a device in a ResourceSlice that classes go by.
struct ClassDevice {
  std::string pool{};  // the resource's name: "nvidia.com/gpu"
  std::string type{};  // "gpu", "mig"
  auto operator<=>(const ClassDevice&) const = default;
};

// "gpu.nvidia.com" for "nvidia.com/gpu": a class has no slash in its name.
std::string ClassNameOf(std::string_view pool);
// The classes by name, as applied.
std::map<std::string, boost::json::object> ClassesOf(const std::set<ClassDevice>& devices);

// Lives on the loop's thread. Classes are never deleted: claims may name them, and without devices
// they give nothing. Fields that somebody else owns stay theirs.
class ClassWriter {
 public:
  // All of them must outlive the writer.
  ClassWriter(EventLoop& loop, kube::Client& client, Random& random);
  ~ClassWriter();
  ClassWriter(const ClassWriter&) = delete;
  ClassWriter& operator=(const ClassWriter&) = delete;

  uint64_t written() const { return written_; }

 private:
  void WriteSoon();
  void Write();
  void OnWritten(const std::string& name, const Status& status);

  EventLoop& loop_;
  kube::Client& client_;
  std::map<std::string, std::string> applied_;  // class → its text
  std::unique_ptr<kube::Reflector> slices_;
  std::unique_ptr<kube::Call> call_;
  Timer timer_{loop_};
  uint64_t written_ = 0;
};

}  // namespace kgpu::controller
