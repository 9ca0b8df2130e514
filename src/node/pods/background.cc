#include "src/node/pods/background.h"

#include <utility>

namespace kgpu::pods {

Background AtOnce() {
  return [](const std::function<std::function<void()>()>& job,
            const std::function<void(const Status&)>&) {
    job()();
    return true;
  };
}

Background BackgroundOn(sys::DiskWorker& disk) {
  return [&disk](sys::DiskWorker::Job job, sys::DiskWorker::Failed failed) {
    return disk.Post(std::move(job), std::move(failed));
  };
}

}  // namespace kgpu::pods
