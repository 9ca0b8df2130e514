#include "src/node/config/share_reader.h"

#include <boost/json.hpp>

#include <array>
#include <iterator>
#include <string_view>

#include "src/gpu/device/mig.h"
#include "src/node/config/words.h"
#include "src/node/sharing/kind.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::config {
namespace {

using sharing::ComputeShare;
using sharing::Share;
using sharing::SliceSize;

constexpr std::array<std::string_view, 11> kShareKeys = {
    "by",     "replicas", "size",     "layout",  "multiple", "context",
    "pinned", "unknown",  "onExcess", "compute", "threads"};
constexpr size_t kMaxLayout = 64;
constexpr unsigned kMostPercent = 100;
constexpr std::string_view kProportionalWord = "proportional";
constexpr std::array kComputeWords = {
    Word<ComputeShare::Kind>{kProportionalWord, ComputeShare::Kind::kProportional}};

// "time, memory, mps or mig".
std::string NamesOfKinds() {
  std::string names;
  const auto kinds = sharing::Kinds();
  for (auto kind = kinds.begin(); kind != kinds.end(); ++kind) {
    const bool is_last = std::next(kind) == kinds.end();
    names += fmt::format("{}{}",
                         names.empty() ? ""
                         : is_last     ? " or "
                                       : ", ",
                         (*kind)->traits().name);
  }
  return names;
}

// 25, or proportional.
ComputeShare ReadComputeShare(const Node& field) {
  if (field.is_string()) {
    const auto kind = field.OneOf<ComputeShare::Kind>(kComputeWords);
    return {.kind = kind.value_or(ComputeShare::Kind::kNone)};
  }
  const auto percent = field.Number(1, kMostPercent);
  return percent ? ComputeShare{.kind = ComputeShare::Kind::kPercent,
                                .percent = static_cast<unsigned>(*percent)}
                 : ComputeShare();
}

// Which fields a share has.
class ShareReader {
 public:
  explicit ShareReader(const Node& node) : node_(node) {}

  Share Read() {
    node_.ForEachField(
        kShareKeys, [this](std::string_view name, const Node& field) { ReadField(name, field); });
    if (node_.is_map() && !has_by_) {
      node_.Error("by: missing: set by: {}", NamesOfKinds());
    } else if (node_.is_map()) {
      share_.by->Check(given_, share_,
                       [this](const std::string& error) { node_.Error("{}", error); });
    }
    return std::move(share_);
  }

 private:
  void ReadField(std::string_view name, const Node& field) {
    if (name == "by") {
      has_by_ = true;
      ReadBy(field);
    } else if (name == "replicas") {
      given_.replicas = true;
      share_.replicas = static_cast<unsigned>(field.Number(2, sharing::kMaxReplicas).value_or(2));
    } else if (name == "size") {
      given_.size = true;
      share_.size = ReadSize(field);
    } else if (name == "layout") {
      given_.layout = true;
      ReadLayout(field);
    } else if (name == "threads") {
      given_.threads = true;
      if (const auto threads = field.Number(1, kMostPercent)) {
        share_.threads = static_cast<unsigned>(*threads);
      }
    } else if (name == "multiple") {
      given_.multiple = true;
      Set(share_.multiple, field.OneOf<sharing::MultipleSlots>(kMultipleWords));
    } else {
      given_.memory = true;
      ReadMemoryField(name, field);
    }
  }

  void ReadMemoryField(std::string_view name, const Node& field) {
    if (name == "context") {
      if (const auto text = field.String()) {
        Set(share_.context, field.Accept(ParseQuantity(*text)));
      }
    } else if (name == "pinned") {
      Set(share_.counts_pinned, field.Bool());
    } else if (name == "unknown") {
      Set(share_.unknown, field.OneOf<sharing::UnknownApi>(kUnknownApiWords));
    } else if (name == "compute") {
      given_.compute = true;
      share_.compute = ReadComputeShare(field);
    } else {
      Set(share_.on_excess, field.OneOf<sharing::OnExcess>(kOnExcessWords));
    }
  }

  void ReadBy(const Node& field) {
    const auto word = field.String();
    if (const sharing::Kind* kind = word ? sharing::FindKind(*word) : nullptr) {
      share_.by = kind;
    } else if (word) {
      field.Error("{} must be {}", field.Shown(), NamesOfKinds());
    }
  }

  static std::optional<SliceSize> ReadSize(const Node& field) {
    const auto text = field.String();
    return text ? field.Accept(sharing::ParseSliceSize(*text)) : std::nullopt;
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
      } else if (const auto size =
                     text ? item.Accept(sharing::ParseSliceSize(*text)) : std::nullopt) {
        share_.layout.push_back(*size);
      }
    });
  }

  const Node& node_;
  Share share_;
  sharing::GivenFields given_;
  bool has_by_ = false;
};

void AddMemoryFields(const Share& share, boost::json::object& fields) {
  fields["context"] = FormatQuantity(share.context);
  fields["pinned"] = share.counts_pinned;
  fields["unknown"] = doc::View(NameOf<sharing::UnknownApi>(kUnknownApiWords, share.unknown));
  fields["onExcess"] = doc::View(NameOf<sharing::OnExcess>(kOnExcessWords, share.on_excess));
  if (share.compute.kind == ComputeShare::Kind::kPercent) {
    fields["compute"] = share.compute.percent;
  } else if (share.compute.is_set()) {
    fields["compute"] = doc::View(kProportionalWord);
  }
}

}  // namespace

boost::json::object ShareTree(const Share& share) {
  boost::json::object fields;
  fields["by"] = doc::View(share.by->traits().name);
  if (sharing::MakesDevices(share)) {
    fields["layout"] = doc::Texts(share.profiles);
    return fields;
  }
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
  if (sharing::LimitsMemory(share)) {
    AddMemoryFields(share, fields);
  }
  fields["multiple"] = doc::View(NameOf<sharing::MultipleSlots>(kMultipleWords, share.multiple));
  return fields;
}

Share ReadShare(const Node& node) {
  return ShareReader(node).Read();
}

}  // namespace kgpu::config
