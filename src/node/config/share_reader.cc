#include "src/node/config/share_reader.h"

#include <boost/json.hpp>

#include <array>
#include <string_view>

#include "src/gpu/device/mig.h"
#include "src/node/config/share_mig.h"
#include "src/node/config/words.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 11> kShareKeys = {
    "by",     "replicas", "size",     "layout",  "multiple", "context",
    "pinned", "unknown",  "onExcess", "compute", "threads"};
constexpr size_t kMaxLayout = 64;

// Which fields a share has.
class ShareReader {
 public:
  explicit ShareReader(const Node& node) : node_(node) {}

  Share Read() {
    node_.ForEachField(
        kShareKeys, [this](std::string_view name, const Node& field) { ReadField(name, field); });
    if (node_.is_map()) {
      CheckKinds();
    }
    return std::move(share_);
  }

 private:
  void ReadField(std::string_view name, const Node& field) {
    if (name == "by") {
      has_by_ = true;
      ReadBy(field);
    } else if (name == "replicas") {
      has_replicas_ = true;
      share_.replicas = static_cast<unsigned>(field.Number(2, kMaxReplicas).value_or(2));
    } else if (name == "size") {
      has_size_ = true;
      share_.size = ReadSize(field);
    } else if (name == "layout") {
      has_layout_ = true;
      ReadLayout(field);
    } else if (name == "threads") {
      has_threads_ = true;
      if (const auto threads = field.Number(1, 100)) {
        share_.threads = static_cast<unsigned>(*threads);
      }
    } else if (name == "multiple") {
      has_multiple_ = true;
      Set(share_.multiple, field.OneOf<MultipleSlots>(kMultipleWords));
    } else if (name == "context") {
      has_memory_field_ = true;
      if (const auto text = field.String()) {
        Set(share_.context, field.Accept(ParseQuantity(*text)));
      }
    } else if (name == "pinned") {
      has_memory_field_ = true;
      Set(share_.counts_pinned, field.Bool());
    } else if (name == "unknown") {
      has_memory_field_ = true;
      Set(share_.unknown, field.OneOf<UnknownApi>(kUnknownApiWords));
    } else if (name == "compute") {
      has_memory_field_ = true;
      has_compute_ = true;
      share_.compute = ReadComputeShare(field);
    } else {
      has_memory_field_ = true;
      Set(share_.on_excess, field.OneOf<OnExcess>(kOnExcessWords));
    }
  }

  void ReadBy(const Node& field) {
    const auto word = field.String();
    if (word == "mps") {
      share_.by = ShareBy::kMps;
    } else if (word == "time") {
      share_.by = ShareBy::kTime;
    } else if (word == "memory") {
      share_.by = ShareBy::kMemory;
    } else if (word == "mig") {
      share_.by = ShareBy::kMig;
    } else if (word) {
      field.Error("{} must be time, memory, mps or mig", field.Shown());
    }
  }

  static std::optional<SliceSize> ReadSize(const Node& field) {
    const auto text = field.String();
    return text ? field.Accept(ParseSliceSize(*text)) : std::nullopt;
  }

  void ReadLayout(const Node& field) {
    if (field.is_list() && (field.size() == 0 || field.size() > kMaxLayout)) {
      field.Error("has {} sizes: list 1 to {}", field.size(), kMaxLayout);
      return;
    }
    field.ForEachItem([this](const Node& item) {
      const auto text = item.String();
      if (text && device::IsMigProfileName(*text)) {
        share_.profiles.push_back(*text);
      } else if (const auto size = text ? item.Accept(ParseSliceSize(*text)) : std::nullopt) {
        share_.layout.push_back(*size);
      }
    });
  }

  void CheckKinds() {
    if (!has_by_) {
      node_.Error("by: missing: set by: time, by: memory, by: mps or by: mig");
    } else if (share_.by == ShareBy::kTime) {
      CheckTime();
    } else if (share_.by == ShareBy::kMemory) {
      CheckMemory();
    } else if (share_.by == ShareBy::kMig) {
      CheckMig();
    } else if (share_.by == ShareBy::kMps) {
      CheckMps();
    }
    if (has_threads_ && share_.by != ShareBy::kMps && share_.by != ShareBy::kNothing) {
      node_.Error("threads is for by: mps: remove it");
    }
  }

  void CheckTime() const {
    if (!has_replicas_) {
      node_.Error("replicas: missing: set the number of slots per device");
    }
    if (has_size_ || has_layout_ || has_memory_field_) {
      node_.Error(
          "size, layout, context, pinned, unknown and onExcess are for by: memory and by: mps, "
          "compute is for by: memory: remove them");
    }
  }

  void CheckMig() const {
    if (has_replicas_ || has_size_ || has_memory_field_ || has_multiple_) {
      node_.Error(
          "by: mig takes layout alone: remove replicas, size, multiple, context, pinned, unknown, "
          "onExcess and compute");
    }
    if (!has_layout_ || !share_.layout.empty()) {
      node_.Error("layout: {}: list the MIG instances of each GPU: [3g.40gb, 2g.20gb, 1g.10gb]",
                  has_layout_ ? "has sizes of memory slices" : "missing");
    } else if (const Status status = CheckMigLayout(share_.profiles); !status.ok()) {
      node_.Error("layout: {}", Message(status));
    }
  }

  void CheckMemory() const {
    if (has_replicas_) {
      node_.Error("replicas is for by: time and by: mps: set size, such as 20Gi or 1/4, or layout");
    }
    if (has_size_ == has_layout_) {
      node_.Error(
          "{}: set size, such as 20Gi or 1/4, for equal slices, or layout, such as [40Gi, "
          "20Gi], for those that you list",
          has_size_ ? "size and layout" : "size: missing");
    }
    CheckSizes();
  }

  void CheckMps() {
    if (!has_multiple_) {
      share_.multiple = MultipleSlots::kRefuse;
    }
    if (static_cast<int>(has_replicas_) + static_cast<int>(has_size_) +
            static_cast<int>(has_layout_) !=
        1) {
      node_.Error(
          "{}: set replicas, such as 4, for equal parts, or size, such as 20Gi or 1/4, or layout, "
          "such as [40Gi, 20Gi]",
          has_replicas_ || has_size_ ? "only one of replicas, size and layout is possible"
                                     : "replicas: missing");
    }
    if (share_.replicas > kMaxMpsClients) {
      node_.Error("replicas: an MPS server takes {} programs: set at most that many",
                  kMaxMpsClients);
    }
    if (share_.multiple == MultipleSlots::kSpread) {
      node_.Error(
          "multiple: a program reaches the MPS server of one device, so its slots cannot be of "
          "several: set refuse or allow");
    }
    if (has_compute_) {
      node_.Error(
          "compute: programs run at the same time with MPS, so they have no turns to divide: set "
          "threads instead");
    }
    CheckSizes();
  }

  void CheckSizes() const {
    if (!share_.profiles.empty()) {
      node_.Error("layout: {} is a MIG instance: set by: mig, or list sizes such as 20Gi",
                  share_.profiles.front());
    }
    for (const SliceSize& size : SizesOf(share_)) {
      if (size.parts == 0 && size.bytes <= share_.context) {
        node_.Error(
            "{}: a CUDA context takes {} of it (context), so that nothing is left: set "
            "larger slices",
            ToString(size), FormatQuantity(share_.context));
      }
    }
    CheckParts();
  }

  // Amounts are compared with each device later; parts alone are wrong for all.
  void CheckParts() const {
    double sum = 0;
    for (const SliceSize& size : share_.layout) {
      sum += size.parts == 0 ? 0 : 1.0 / size.parts;
    }
    constexpr double kRounding = 1e-9;
    if (sum > 1 + kRounding) {
      node_.Error("layout: the parts are more than one device: remove some");
    }
  }

  const Node& node_;
  Share share_;
  bool has_by_ = false;
  bool has_replicas_ = false;
  bool has_size_ = false;
  bool has_layout_ = false;
  bool has_threads_ = false;
  bool has_multiple_ = false;
  bool has_compute_ = false;
  bool has_memory_field_ = false;
};

}  // namespace

boost::json::object ShareTree(const Share& share) {
  boost::json::object fields;
  if (share.by == ShareBy::kMig) {
    fields["by"] = "mig";
    fields["layout"] = doc::Texts(share.profiles);
    return fields;
  }
  if (LimitsMemory(share)) {
    fields["by"] = share.by == ShareBy::kMps ? "mps" : "memory";
    if (share.replicas > 1) {
      fields["replicas"] = share.replicas;
    }
    if (share.threads) {
      fields["threads"] = *share.threads;
    }
    if (share.size) {
      fields["size"] = ToString(*share.size);
    }
    if (!share.layout.empty()) {
      boost::json::array& layout = fields["layout"].emplace_array();
      for (const SliceSize& size : share.layout) {
        layout.emplace_back(ToString(size));
      }
    }
    fields["context"] = FormatQuantity(share.context);
    fields["pinned"] = share.counts_pinned;
    fields["unknown"] = doc::View(NameOf<UnknownApi>(kUnknownApiWords, share.unknown));
    fields["onExcess"] = doc::View(NameOf<OnExcess>(kOnExcessWords, share.on_excess));
    if (share.compute.is_set()) {
      fields["compute"] = ComputeShareTree(share.compute);
    }
  } else {
    fields["by"] = "time";
    fields["replicas"] = share.replicas;
  }
  fields["multiple"] = doc::View(NameOf<MultipleSlots>(kMultipleWords, share.multiple));
  return fields;
}

Share ReadShare(const Node& node) {
  return ShareReader(node).Read();
}

}  // namespace kgpu::config
