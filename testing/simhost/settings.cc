#include "testing/simhost/settings.h"

#include <boost/json.hpp>

#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::simhost {
namespace {

namespace json = boost::json;

constexpr int kFormat = 1;

constexpr std::array<std::pair<std::string_view, Distro>, 4> kDistros = {
    {{"debian", Distro::kDebian},
     {"ubuntu", Distro::kUbuntu},
     {"rhel", Distro::kRhel},
     {"suse", Distro::kSuse}}};
constexpr std::array<std::pair<std::string_view, Arch>, 2> kArchs = {
    {{"x86_64", Arch::kX86_64}, {"aarch64", Arch::kAarch64}}};

// Reads fields of one JSON object; the first error is kept.
class FieldReader {
 public:
  FieldReader(const json::value& value, std::string_view file) : file_(file) {
    object_ = value.if_object();
    if (object_ == nullptr) {
      status_ = InvalidArgument("{}: must be a map; recreate the host", file_);
    }
  }

  std::string Text(std::string_view name) {
    const json::value* value = Find(name);
    if (value == nullptr || !value->is_string()) {
      Fail(name, "a string");
      return "";
    }
    const json::string& text = value->get_string();
    return {text.data(), text.size()};
  }

  uint64_t Number(std::string_view name) {
    const json::value* value = Find(name);
    json::error_code error;
    const auto number = value == nullptr ? 0 : value->to_number<uint64_t>(error);
    if (value == nullptr || error) {
      Fail(name, "an integer");
    }
    return number;
  }

  bool Flag(std::string_view name) {
    const json::value* value = Find(name);
    if (value == nullptr || !value->is_bool()) {
      Fail(name, "true or false");
      return false;
    }
    return value->get_bool();
  }

  const Status& status() const { return status_; }

 private:
  const json::value* Find(std::string_view name) const {
    return object_ == nullptr ? nullptr : object_->if_contains({name.data(), name.size()});
  }
  void Fail(std::string_view name, std::string_view wanted) {
    if (status_.ok()) {
      status_ = InvalidArgument("{}: {}: must be {}; recreate the host", file_, name, wanted);
    }
  }

  std::string_view file_;
  const json::object* object_ = nullptr;
  Status status_;
};

template <typename T, size_t N>
StatusOr<T> ParseWord(const std::array<std::pair<std::string_view, T>, N>& words,
                      std::string_view text, std::string_view what) {
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == text) {
      return value;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  return InvalidArgument("{}: \"{}\" must be one of {}", what, Printable(text, 60), known);
}

template <typename T, size_t N>
std::string_view WordOf(const std::array<std::pair<std::string_view, T>, N>& words, T wanted) {
  for (const auto& [word, value] : words) {
    if (value == wanted) {
      return word;
    }
  }
  return words.front().first;
}

}  // namespace

std::string_view ToString(Distro distro) {
  return WordOf(kDistros, distro);
}
std::string_view ToString(Arch arch) {
  return WordOf(kArchs, arch);
}
StatusOr<Distro> ParseDistro(std::string_view text) {
  return ParseWord(kDistros, text, "--distro");
}
StatusOr<Arch> ParseArch(std::string_view text) {
  return ParseWord(kArchs, text, "--arch");
}

std::string SettingsToJson(const HostSettings& settings) {
  const auto text = [](std::string_view view) { return json::string(view.data(), view.size()); };
  json::object object;
  object["format"] = kFormat;
  object["profile"] = text(settings.profile);
  object["distro"] = text(ToString(settings.distro));
  object["arch"] = text(ToString(settings.arch));
  object["has32bit"] = settings.has_32bit;
  object["driver"] = text(settings.driver_version);
  object["seed"] = settings.seed;
  object["uvmMajor"] = settings.majors.uvm;
  object["capsMajor"] = settings.majors.caps;
  object["nvswitchMajor"] = settings.majors.nvswitch;
  object["nvlinkMajor"] = settings.majors.nvlink;
  object["imexMajor"] = settings.majors.imex;
  object["gdsMajor"] = settings.majors.gds;
  object["gdrcopyMajor"] = settings.majors.gdrcopy;
  object["infinibandMajor"] = settings.majors.infiniband;
  object["with"] = text(ToString(settings.companions));
  object["nouveau"] = settings.is_nouveau;
  object["nvmlLibrary"] = text(settings.nvml_library);
  return doc::Print(object, doc::Format::kJson);
}

StatusOr<HostSettings> SettingsFromJson(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value value, doc::Parse(text, doc::Format::kJson, file));
  FieldReader reader(value, file);
  HostSettings settings;
  const uint64_t format = reader.Number("format");
  settings.profile = reader.Text("profile");
  const std::string distro = reader.Text("distro");
  const std::string arch = reader.Text("arch");
  settings.has_32bit = reader.Flag("has32bit");
  settings.driver_version = reader.Text("driver");
  settings.seed = reader.Number("seed");
  settings.majors.uvm = static_cast<unsigned>(reader.Number("uvmMajor"));
  settings.majors.caps = static_cast<unsigned>(reader.Number("capsMajor"));
  settings.majors.nvswitch = static_cast<unsigned>(reader.Number("nvswitchMajor"));
  settings.majors.nvlink = static_cast<unsigned>(reader.Number("nvlinkMajor"));
  settings.majors.imex = static_cast<unsigned>(reader.Number("imexMajor"));
  settings.majors.gds = static_cast<unsigned>(reader.Number("gdsMajor"));
  settings.majors.gdrcopy = static_cast<unsigned>(reader.Number("gdrcopyMajor"));
  settings.majors.infiniband = static_cast<unsigned>(reader.Number("infinibandMajor"));
  const std::string companions = reader.Text("with");
  settings.is_nouveau = reader.Flag("nouveau");
  settings.nvml_library = reader.Text("nvmlLibrary");
  RETURN_IF_ERROR(reader.status());
  if (format != kFormat) {
    return InvalidArgument("{}: format: {} is from another version of kgpu-sim; recreate the host",
                           file, format);
  }
  ASSIGN_OR_RETURN(settings.distro, ParseDistro(distro));
  ASSIGN_OR_RETURN(settings.arch, ParseArch(arch));
  ASSIGN_OR_RETURN(settings.companions, ParseCompanions(companions));
  return settings;
}

}  // namespace kgpu::simhost
