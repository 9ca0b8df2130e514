#include "src/kube/api/reread_file.h"

#include <utility>

namespace kgpu::kube {

StatusOr<std::string> RereadFile::Read(SteadyTime now) {
  if (path_.empty()) {
    return std::string();
  }
  if (!text_ || !read_at_ || now - *read_at_ >= kPeriod) {
    StatusOr<std::string> text = root_.ReadFile(path_, limit_);
    if (text.ok()) {
      text_ = *std::move(text);
    } else if (!text_) {
      return text.status();
    }
    read_at_ = now;
  }
  return *text_;
}

}  // namespace kgpu::kube
