#include "testing/kubelet/call_log.h"

#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::kubelet {

uint64_t CallLog::Begin(std::string_view method, std::string_view peer,
                        std::string_view arguments) {
  CallRecord record;
  record.number = next_++;
  record.time = clock_.WallNow();
  record.method = method;
  record.peer = peer;
  record.arguments = Printable(arguments, kTextLimit);
  records_.push_back(std::move(record));
  started_.push_back(clock_.Now());
  if (records_.size() > kLength) {
    records_.pop_front();
    started_.pop_front();
  }
  ++counts_[std::string(method)];
  changed_();
  return next_ - 1;
}

void CallLog::End(uint64_t number, std::string_view reply) {
  if (records_.empty() || number < records_.front().number) {
    return;
  }
  const size_t at = number - records_.front().number;
  if (at < records_.size()) {
    records_[at].reply = Printable(reply, kTextLimit);
    records_[at].duration = clock_.Now() - started_[at];
    changed_();
  }
}

void CallLog::Note(std::string_view method, std::string_view peer, std::string_view text) {
  End(Begin(method, peer, text), "");
}

uint64_t CallLog::Count(std::string_view method) const {
  const auto found = counts_.find(method);
  return found == counts_.end() ? 0 : found->second;
}

void CallLog::Clear() {
  records_.clear();
  started_.clear();
  counts_.clear();
}

}  // namespace kgpu::kubelet
