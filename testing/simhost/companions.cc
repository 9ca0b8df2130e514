#include "testing/simhost/companions.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::simhost {
namespace {

constexpr unsigned kMaxChannels = 4096;
constexpr unsigned kMaxCards = 64;

StatusOr<unsigned> CountOf(std::string_view word, std::string_view number, unsigned most) {
  const std::optional<uint64_t> count = ParseUint(number);
  if (!count || *count == 0 || *count > most) {
    return InvalidArgument("--with: \"{}\" must be {}=1 to {}={}", Printable(word, 60),
                           word.substr(0, word.find('=')), word.substr(0, word.find('=')), most);
  }
  return static_cast<unsigned>(*count);
}

Status AddWord(std::string_view word, Companions& companions) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const bool has_number = equals != std::string_view::npos;
  const std::string_view number = has_number ? word.substr(equals + 1) : "1";
  if (name == "imex") {
    ASSIGN_OR_RETURN(companions.imex_channels, CountOf(word, number, kMaxChannels));
    return OkStatus();
  }
  if (name == "mofed") {
    ASSIGN_OR_RETURN(companions.rdma_cards, CountOf(word, number, kMaxCards));
    return OkStatus();
  }
  if (word == "gds") {
    companions.has_gds = true;
    return OkStatus();
  }
  if (word == "gdrcopy") {
    companions.has_gdrcopy = true;
    return OkStatus();
  }
  return InvalidArgument("--with: \"{}\" must be gds, gdrcopy, mofed[=CARDS] or imex[=CHANNELS]",
                         Printable(word, 60));
}

}  // namespace

StatusOr<Companions> ParseCompanions(std::string_view text) {
  Companions companions;
  if (text.empty() || text == "none") {
    return companions;
  }
  for (const std::string_view word : Split(text, ',')) {
    RETURN_IF_ERROR(AddWord(word, companions));
  }
  return companions;
}

std::string ToString(const Companions& companions) {
  std::vector<std::string> words;
  if (companions.imex_channels > 0) {
    words.push_back(fmt::format("imex={}", companions.imex_channels));
  }
  if (companions.has_gds) {
    words.emplace_back("gds");
  }
  if (companions.has_gdrcopy) {
    words.emplace_back("gdrcopy");
  }
  if (companions.rdma_cards > 0) {
    words.push_back(fmt::format("mofed={}", companions.rdma_cards));
  }
  return words.empty() ? "none" : Join(words, ",");
}

}  // namespace kgpu::simhost
