#include "src/node/labels/feature_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/node/labels/names.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::labels {
namespace {

// Says whose the file is: one without it is never touched.
constexpr std::string_view kHeader = "# Written by kgpu, which overwrites this file.\n";

constexpr std::string_view kDirective = "# +";
// A file of thousands of bad lines is one problem, not thousands.
constexpr size_t kMaxProblems = 10;

class FileReader {
 public:
  FileReader(std::string_view file, WallTime now) : file_(file), now_(now) {}

  FileFeatures Read(std::string_view text) && {
    for (const std::string_view raw : Split(text, '\n')) {
      ++line_;
      const std::string_view line = Trim(raw);
      if (line.starts_with('#')) {
        ReadComment(line);
      } else if (!line.empty()) {
        ReadFeature(line);
      }
    }
    if (left_out_ > 0) {
      result_.problems.push_back(fmt::format("{}: and {} more", file_, left_out_));
    }
    return std::move(result_);
  }

 private:
  template <typename... Args>
  void Complain(fmt::format_string<Args...> format, Args&&... args) {
    if (result_.problems.size() >= kMaxProblems) {
      ++left_out_;
      return;
    }
    result_.problems.push_back(
        fmt::format("{}:{}: {}", file_, line_, fmt::format(format, std::forward<Args>(args)...)));
  }

  void ReadComment(std::string_view line) {
    if (line.starts_with("#+")) {
      Complain("\"{}\" is a comment: a directive needs a space after the #", Printable(line, 60));
    }
    if (!line.starts_with(kDirective)) {
      return;
    }
    const std::string_view directive = line.substr(kDirective.size());
    const std::string_view name = directive.substr(0, directive.find('='));
    if (name == "no-label") {
      skips_label_ = true;
    } else if (name == "no-feature") {
      skips_feature_ = true;
    } else if (name == "expiry-time") {
      ReadExpiry(directive);
    } else {
      const auto nearest = Nearest(name, {"expiry-time", "no-feature", "no-label"});
      Complain("unknown directive \"{}\"{}", Printable(name, 60),
               nearest ? fmt::format(", did you mean \"{}\"?", *nearest) : "");
    }
  }

  // One that cannot be read changes nothing, as in NFD.
  void ReadExpiry(std::string_view directive) {
    const size_t equals = directive.find('=');
    if (equals == std::string_view::npos) {
      Complain("must be \"# +expiry-time=2030-01-02T03:04:05Z\"");
      return;
    }
    const auto time = ParseExpiry(Trim(directive.substr(equals + 1)));
    if (time.ok()) {
      expiry_ = *time;
    } else {
      Complain("expiry-time: {}", Message(time.status()));
    }
  }

  void ReadFeature(std::string_view line) {
    const bool skips_label = std::exchange(skips_label_, false);
    const bool skips_feature = std::exchange(skips_feature_, false);
    if (expiry_ && *expiry_ < now_) {
      return;
    }
    if (expiry_) {
      result_.next_expiry = std::min(result_.next_expiry.value_or(*expiry_), *expiry_);
    }
    const size_t equals = line.find('=');
    const std::string key(line.substr(0, equals));
    const std::string value(equals == std::string_view::npos ? "true" : line.substr(equals + 1));
    if (key.empty()) {
      Complain("\"{}\" has no key before the =", Printable(line, 60));
      return;
    }
    if (skips_feature) {
      result_.raw_features.erase(key);
    } else {
      result_.raw_features.insert_or_assign(key, value);
    }
    result_.raw_labels.erase(key);
    result_.labels.erase(WholeKey(key));
    if (!skips_label) {
      AddLabel(key, value);
    }
  }

  void AddLabel(const std::string& key, const std::string& value) {
    result_.raw_labels.insert_or_assign(key, value);
    if (const Status status = CheckKey(WholeKey(key)); !status.ok()) {
      Complain("invalid label: {}", Message(status));
    } else if (const Status bad = CheckLabelValue(value); !bad.ok()) {
      Complain("invalid label {}: {}", Printable(key, 80), Message(bad));
    } else {
      result_.labels.insert_or_assign(WholeKey(key), value);
    }
  }

  std::string_view file_;
  WallTime now_;
  size_t line_ = 0;
  size_t left_out_ = 0;
  std::optional<WallTime> expiry_;
  bool skips_label_ = false;
  bool skips_feature_ = false;
  FileFeatures result_;
};

void MergeFile(FileFeatures& into, FileFeatures more) {
  more.labels.merge(into.labels);
  more.raw_labels.merge(into.raw_labels);
  more.raw_features.merge(into.raw_features);
  into.labels = std::move(more.labels);
  into.raw_labels = std::move(more.raw_labels);
  into.raw_features = std::move(more.raw_features);
  std::ranges::move(more.problems, std::back_inserter(into.problems));
  if (more.next_expiry) {
    into.next_expiry = std::min(into.next_expiry.value_or(*more.next_expiry), *more.next_expiry);
  }
}

bool IsRegular(const sys::Root& host, const std::string& path) {
  const auto facts = host.Stat(path);
  // An error of stat is reported by the reader of the file.
  return !facts.ok() || S_ISREG(facts->st_mode);
}

}  // namespace

features::FeatureSet FileFeatures::Features() const {
  features::FeatureSet set;
  set.attributes["local.label"] = raw_labels;
  set.attributes["local.feature"] = raw_features;
  return set;
}

FileFeatures ParseFeatureFile(std::string_view text, std::string_view file, WallTime now) {
  return FileReader(file, now).Read(text);
}

FileFeatures ReadFeatureFiles(const sys::Root& host, std::string_view folder, WallTime now,
                              std::string_view own_file) {
  FileFeatures all;
  const auto names = host.ListDir(folder);
  if (!names.ok()) {
    if (names.status().code() != StatusCode::kNotFound) {
      all.problems.emplace_back(Message(names.status()));
    }
    return all;
  }
  size_t files = 0;
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (name.starts_with('.') || name == own_file || !IsRegular(host, path)) {
      continue;
    }
    if (++files > kMaxFeatureFiles) {
      all.problems.push_back(
          fmt::format("{}: more than {} files: the rest is ignored", folder, kMaxFeatureFiles));
      break;
    }
    const auto text = host.ReadFile(path, kMaxFeatureFileBytes);
    if (text.ok()) {
      MergeFile(all, ParseFeatureFile(*text, path, now));
    } else {
      all.problems.emplace_back(Message(text.status()));
    }
  }
  return all;
}

std::pair<std::string, std::string> SplitFilePath(std::string_view path) {
  const size_t slash = path.rfind('/');
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

bool IsOwnFeatureFile(const sys::Root& host, std::string_view path) {
  const auto text = host.ReadFile(path, kMaxFeatureFileBytes);
  return text.ok() && text->starts_with(kHeader);
}

StatusOr<std::string> FeatureFileText(const std::map<std::string, std::string>& labels) {
  std::string text(kHeader);
  for (const auto& [key, value] : labels) {
    // A line break in a value would be a label more.
    RETURN_IF_ERROR(CheckKey(key));
    RETURN_IF_ERROR(CheckLabelValue(value));
    text += fmt::format("{}={}\n", key, value);
  }
  if (text.size() > kMaxFeatureFileBytes) {
    return OutOfRange("{} labels have {} bytes: NFD reads no feature file larger than {}",
                      labels.size(), text.size(), kMaxFeatureFileBytes);
  }
  return text;
}

StatusOr<FeatureFilePlan> PlanFeatureFile(const sys::Root& host, std::string_view folder,
                                          const std::map<std::string, std::string>& labels,
                                          std::string_view own_file) {
  ASSIGN_OR_RETURN(std::string text, FeatureFileText(labels));
  ASSIGN_OR_RETURN(const std::string real_folder, host.Resolve(folder));
  FeatureFilePlan plan{.path = fmt::format("{}/{}", real_folder, own_file)};
  if (host.Exists(plan.path)) {
    if (!IsOwnFeatureFile(host, plan.path)) {
      return AlreadyExists("{}: not written by kgpu: remove it, or set labels.file to another name",
                           host.At(plan.path));
    }
    ASSIGN_OR_RETURN(plan.before, host.ReadFile(plan.path, kMaxFeatureFileBytes));
  }
  plan.after = std::move(text);
  return plan;
}

StatusOr<FeatureFilePlan> PlanFeatureFileRemoval(const sys::Root& host, std::string_view folder,
                                                 std::string_view own_file) {
  const auto real_folder = host.Resolve(folder);
  if (!real_folder.ok() && real_folder.status().code() != StatusCode::kNotFound) {
    return real_folder.status();
  }
  FeatureFilePlan plan{
      .path = fmt::format("{}/{}", real_folder.value_or(std::string(folder)), own_file)};
  if (!real_folder.ok() || !host.Exists(plan.path)) {
    return plan;
  }
  if (!IsOwnFeatureFile(host, plan.path)) {
    return FailedPrecondition("{}: not written by kgpu: left unchanged", host.At(plan.path));
  }
  ASSIGN_OR_RETURN(plan.before, host.ReadFile(plan.path, kMaxFeatureFileBytes));
  return plan;
}

Status ApplyFeatureFile(const sys::Root& host, const FeatureFilePlan& plan) {
  const std::string path = host.At(plan.path);
  if (!plan.HasChange()) {
    return OkStatus();
  }
  if (plan.after) {
    return sys::WriteFileAtomically(path, *plan.after);
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, fmt::format("remove {}", path));
  }
  return OkStatus();
}

StatusOr<bool> WriteFeatureFile(const sys::Root& host, std::string_view folder,
                                const std::map<std::string, std::string>& labels,
                                std::string_view own_file) {
  ASSIGN_OR_RETURN(const FeatureFilePlan plan, PlanFeatureFile(host, folder, labels, own_file));
  RETURN_IF_ERROR(ApplyFeatureFile(host, plan));
  return plan.HasChange();
}

Status RemoveFeatureFile(const sys::Root& host, std::string_view folder,
                         std::string_view own_file) {
  ASSIGN_OR_RETURN(const FeatureFilePlan plan, PlanFeatureFileRemoval(host, folder, own_file));
  return ApplyFeatureFile(host, plan);
}

}  // namespace kgpu::labels
