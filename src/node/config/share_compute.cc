#include "src/node/config/share_compute.h"

#include <boost/json.hpp>

#include <array>
#include <string_view>

#include "src/node/config/tree_reader.h"

namespace kgpu::config {
namespace {

using Kind = ComputeShare::Kind;

constexpr std::string_view kProportionalWord = "proportional";
constexpr std::array kComputeWords = {Word<Kind>{kProportionalWord, Kind::kProportional}};
constexpr unsigned kMostPercent = 100;

}  // namespace

ComputeShare ReadComputeShare(const Node& field) {
  if (field.is_string()) {
    const auto kind = field.OneOf<Kind>(kComputeWords);
    return {.kind = kind.value_or(Kind::kNone)};
  }
  const auto percent = field.Number(1, kMostPercent);
  return percent ? ComputeShare{.kind = Kind::kPercent, .percent = static_cast<unsigned>(*percent)}
                 : ComputeShare();
}

boost::json::value ComputeShareTree(const ComputeShare& share) {
  switch (share.kind) {
    case Kind::kPercent:
      return share.percent;
    case Kind::kProportional:
      return boost::json::string(kProportionalWord.data(), kProportionalWord.size());
    case Kind::kNone:
      break;
  }
  return nullptr;
}

}  // namespace kgpu::config
