#include "src/setup/driver/choice.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/needs.h"
#include "src/setup/driver/offers.h"

namespace kgpu::driver {
namespace {

// From here on NVIDIA's own installer takes the open modules where they drive the GPU.
constexpr unsigned kOpenIsDefault = 560;

ModuleKind KindOf(const Offer& offer, const Needs& needs, const std::optional<ModuleKind>& asked) {
  if (asked) {
    return *asked;
  }
  const bool could_open = needs.can_open && offer.has_open;
  const bool could_close = needs.can_closed && offer.has_closed;
  if (could_open && could_close) {
    return offer.branch >= kOpenIsDefault ? ModuleKind::kOpen : ModuleKind::kProprietary;
  }
  return could_open ? ModuleKind::kOpen : ModuleKind::kProprietary;
}

bool Fits(const Offer& offer, const Needs& needs, const std::optional<ModuleKind>& asked) {
  const ModuleKind kind = KindOf(offer, needs, asked);
  const bool has_kind = kind == ModuleKind::kOpen ? needs.can_open && offer.has_open
                                                  : needs.can_closed && offer.has_closed;
  const Branch* branch = FindBranch(offer.branch);
  const bool is_known = offer.branch >= needs.first_branch &&
                        (needs.last_branch == 0 || offer.branch <= needs.last_branch);
  const bool is_asked = !needs.branch || *needs.branch == offer.branch;
  const bool has_cuda = !needs.least || (branch != nullptr && Reaches(*branch, *needs.least));
  return has_kind && is_known && is_asked && has_cuda;
}

// Higher is better: long support first, then the newest. A branch that is to be announced is for
// those who ask for it.
std::tuple<int, unsigned> RankOf(const Offer& offer) {
  const Branch* branch = FindBranch(offer.branch);
  const bool is_there = branch != nullptr && branch->newest.find('.') != std::string_view::npos;
  return {is_there ? static_cast<int>(branch->life) : -1, offer.branch};
}

std::optional<Offer> BestOf(const HostFacts& facts, SourceKind source, const Needs& needs,
                            const std::optional<ModuleKind>& asked) {
  std::optional<Offer> best;
  for (const Offer& offer : OffersOf(facts, source)) {
    if (Fits(offer, needs, asked) && (!best || RankOf(*best) < RankOf(offer))) {
      best = offer;
    }
  }
  return best;
}

std::string OffersText(const HostFacts& facts, SourceKind source) {
  std::vector<std::string> names;
  for (const Offer& offer : OffersOf(facts, source)) {
    std::string_view kinds = offer.has_open ? "open" : "proprietary";
    kinds = offer.has_open && offer.has_closed ? "both kinds" : kinds;
    names.push_back(fmt::format("{} ({})", offer.branch, kinds));
  }
  return fmt::format("{}: {}", ToString(source), names.empty() ? "none" : Join(names, ", "));
}

// "GPUs: fermi, up to branch 390; branch 535; open modules"; empty: nothing in particular.
std::string WantedText(const Needs& needs, const Request& request) {
  std::vector<std::string> parts;
  if (!needs.generations.empty()) {
    std::string limits;
    if (needs.last_branch != 0) {
      limits = fmt::format(", up to branch {}", needs.last_branch);
    } else if (needs.first_branch != 0) {
      limits = fmt::format(", from branch {} on", needs.first_branch);
    }
    parts.push_back(fmt::format("GPUs: {}{}", needs.Names(), limits));
  }
  if (needs.branch) {
    parts.push_back(fmt::format("branch {}", *needs.branch));
  }
  if (needs.least) {
    parts.push_back(fmt::format("driver {} or newer", needs.least->str()));
  }
  if (request.kind) {
    parts.push_back(fmt::format("{} modules", ToString(*request.kind)));
  }
  return parts.empty() ? "" : fmt::format(" ({})", Join(parts, "; "));
}

// No package of the host has a driver for its GPUs, whatever is requested.
Status NoDriverFor(const HostFacts& facts, const Needs& needs) {
  const Branch* last = FindBranch(needs.last_branch);
  if (last == nullptr) {
    return FailedPrecondition(
        "{}: no package has a driver for these GPUs ({}), which need branch {} or newer: use "
        "NVIDIA's installer with --source FILE.run",
        facts.distribution.name, needs.Names(), needs.first_branch);
  }
  return FailedPrecondition(
      "{}: no package has a driver for these GPUs ({}); the last one is {}: download NVIDIA's "
      "installer, then: kgpu driver plan --source NVIDIA-Linux-{}-{}.run",
      facts.distribution.name, needs.Names(), last->newest, facts.arch, last->newest);
}

Status NothingFits(const HostFacts& facts, const Request& request, const Needs& needs,
                   const std::vector<SourceKind>& sources) {
  constexpr std::array kAll = {SourceKind::kDistribution, SourceKind::kNvidia,
                               SourceKind::kPrecompiled};
  if (std::ranges::all_of(
          kAll, [&](const SourceKind source) { return OffersOf(facts, source).empty(); })) {
    return FailedPrecondition(
        "{}: no driver packages are known for it: use NVIDIA's installer with --source FILE.run",
        facts.distribution.name);
  }
  const bool is_by_gpus = request.version.empty() && request.cuda.empty() && !request.kind &&
                          !request.source && (needs.last_branch != 0 || needs.first_branch != 0);
  if (is_by_gpus) {
    return NoDriverFor(facts, needs);
  }
  std::vector<std::string> texts;
  bool has_offers = false;
  for (const SourceKind source : sources) {
    texts.push_back(OffersText(facts, source));
    has_offers |= !OffersOf(facts, source).empty();
  }
  const std::string all = Join(texts, "; ");
  if (!has_offers && needs.branch && request.version.find('.') != std::string::npos) {
    return FailedPrecondition(
        "{}: no packages of driver {} are known ({}): request a branch with --branch, or use "
        "NVIDIA's installer with --source FILE.run",
        facts.distribution.name, request.version, all);
  }
  return FailedPrecondition(
      "{}: no branch meets the request{}; available: {}: relax the request, or use NVIDIA's "
      "installer with --source FILE.run",
      facts.distribution.name, WantedText(needs, request), all);
}

void Explain(const Offer& offer, const Needs& needs, const Request& request, Choice& choice) {
  const Branch* branch = FindBranch(offer.branch);
  if (branch != nullptr) {
    if (branch->life == Life::kEnded) {
      choice.why.push_back(
          fmt::format("branch {}: no fixes from NVIDIA since {}; the distribution may provide some",
                      branch->number, branch->end));
    } else {
      choice.why.push_back(fmt::format("branch {}: {}{}{}", branch->number, ToString(branch->life),
                                       branch->end.empty() ? "" : ", fixes until ", branch->end));
    }
  }
  std::string reason = "as requested";
  if (!request.kind) {
    if (!needs.can_closed) {
      reason = "nothing else supports these GPUs";
    } else if (!needs.can_open) {
      reason = fmt::format("the open modules do not support {}", needs.Names());
    } else if (choice.kind == ModuleKind::kOpen) {
      reason = "NVIDIA's own default for these GPUs";
    } else {
      reason = "NVIDIA's own default in this branch";
    }
  }
  choice.why.push_back(fmt::format("{} modules: {}", ToString(choice.kind), reason));
  choice.why.push_back(
      fmt::format("source {}: {}", ToString(choice.source),
                  request.source ? "as requested"
                                 : (choice.is_signed ? "its modules are already built and signed"
                                                     : "the first that has a suitable driver")));
}

StatusOr<Choice> ChooseFile(const HostFacts& facts, const Request& request, Needs needs) {
  if (!facts.file) {
    return InvalidArgument("--source: must name the file: FILE.run, .deb or .rpm");
  }
  const DriverFile& file = *facts.file;
  if (!file.arch.empty() && file.arch != facts.arch) {
    return InvalidArgument("--source: {} is for {}, but this host is {}", file.path, file.arch,
                           facts.arch);
  }
  const auto version = cuda::DriverVersion::Parse(file.version);
  if (!version.ok()) {
    return Annotate(version.status(), "--source: {}", file.path);
  }
  if (!request.version.empty() && request.version != file.version &&
      request.version != fmt::format("{}", version->branch())) {
    return InvalidArgument("--{}: {} requested, but {} has {}",
                           request.is_branch ? "branch" : "version", request.version, file.path,
                           file.version);
  }
  if (needs.least && *version < *needs.least) {
    return InvalidArgument(
        "--source: these GPUs and the requested CUDA version need driver {} or newer, but {} has "
        "{}",
        needs.least->str(), file.path, file.version);
  }
  const Branch* branch = FindBranch(version->branch());
  const Offer offer{.branch = version->branch(),
                    .has_open = version->branch() >= 515,
                    .has_closed = branch == nullptr || branch->has_closed};
  needs.least.reset();
  if (!Fits(offer, needs, request.kind)) {
    return FailedPrecondition(
        "--source: {} has driver {}, which does not support these GPUs ({}) with the requested "
        "modules",
        file.path, file.version, needs.Names());
  }
  Choice choice;
  choice.version = file.version;
  choice.kind = KindOf(offer, needs, request.kind);
  choice.source = request.source.value_or(SourceKind::kRunFile);
  choice.why = needs.why;
  choice.notes = needs.notes;
  Explain(offer, needs, request, choice);
  return choice;
}

// The sources whose packages are wanted, the best first.
StatusOr<std::vector<SourceKind>> SourcesOf(const HostFacts& facts, const Request& request,
                                            const Needs& needs) {
  const bool is_whole = request.version.find('.') != std::string::npos;
  const host::Family family = facts.distribution.family;
  // Debian has one version of each branch; apt is asked which before anything is changed.
  const bool is_debian = family == host::Family::kDebian;
  const bool has_whole =
      request.source == SourceKind::kNvidia ||
      (request.source == SourceKind::kDistribution && is_debian) ||
      (request.source == SourceKind::kPrecompiled && family != host::Family::kUbuntu);
  if (is_whole && request.source && !has_whole) {
    return InvalidArgument(
        "--version: this source cannot provide a full version ({}): use --source nvidia, or "
        "--branch {}",
        request.version, needs.branch.value_or(0));
  }
  if (request.source) {
    return std::vector{*request.source};
  }
  if (is_whole) {  // NVIDIA's repository has more of a branch than its newest
    return is_debian ? std::vector{SourceKind::kNvidia, SourceKind::kDistribution}
                     : std::vector{SourceKind::kNvidia};
  }
  // SUSE itself sends those who compute to NVIDIA's repository, which its signed modules go with.
  if (family == host::Family::kSuse) {
    return std::vector{SourceKind::kNvidia, SourceKind::kDistribution};
  }
  return std::vector{SourceKind::kDistribution, SourceKind::kNvidia};
}

}  // namespace

unsigned Choice::branch() const {
  const auto parsed = cuda::DriverVersion::Parse(version);
  return parsed.ok() ? parsed->branch() : 0;
}

std::string Choice::end() const {
  if (!is_whole()) {
    return fmt::format("{}", branch() + 1);
  }
  const size_t dot = version.rfind('.');
  return fmt::format("{}.{}", version.substr(0, dot),
                     ParseUint(version.substr(dot + 1)).value_or(0) + 1);
}

StatusOr<cuda::DriverVersion> ParseVersion(const Request& request) {
  constexpr size_t kMostNumbers = 3;
  const std::string& text = request.version;
  auto parsed = cuda::DriverVersion::Parse(text);
  const size_t count = Split(text, '.').size();
  if (request.is_branch && (!parsed.ok() || count != 1)) {
    return InvalidArgument("--branch: \"{}\" must be a branch: a number, e.g. 580{}",
                           Printable(text, 40),
                           parsed.ok() ? "; use --version for a full version" : "");
  }
  if (!parsed.ok() || count > kMostNumbers || text.ends_with('.')) {
    return InvalidArgument("--version: \"{}\" must be a driver version, e.g. 580.95.05",
                           Printable(text, 40));
  }
  return parsed;
}

StatusOr<std::optional<ModuleKind>> ParseModuleKind(std::string_view text) {
  if (text.empty() || text == "auto") {
    return std::optional<ModuleKind>();
  }
  for (const ModuleKind kind : {ModuleKind::kOpen, ModuleKind::kProprietary}) {
    if (text == ToString(kind)) {
      return std::optional(kind);
    }
  }
  return InvalidArgument("--module: \"{}\" must be open, proprietary or auto", Printable(text, 40));
}

bool IsFile(std::string_view source) {
  return source.find('/') != std::string_view::npos || source.ends_with(".run") ||
         source.ends_with(".deb") || source.ends_with(".rpm");
}

StatusOr<std::optional<SourceKind>> ParseSource(std::string_view text) {
  if (text.empty() || text == "auto") {
    return std::optional<SourceKind>();
  }
  if (IsFile(text)) {
    return std::optional(text.ends_with(".deb") || text.ends_with(".rpm") ? SourceKind::kLocalRepo
                                                                          : SourceKind::kRunFile);
  }
  for (const SourceKind kind :
       {SourceKind::kDistribution, SourceKind::kNvidia, SourceKind::kPrecompiled}) {
    if (text == ToString(kind)) {
      return std::optional(kind);
    }
  }
  return InvalidArgument(
      "--source: \"{}\" must be distribution, nvidia, precompiled, auto, or a file (.run, .deb, "
      ".rpm)",
      Printable(text, 60));
}

StatusOr<Choice> Choose(const HostFacts& facts, const Request& request) {
  ASSIGN_OR_RETURN(const Needs needs, NeedsOf(facts, request));
  if (request.source == SourceKind::kRunFile || request.source == SourceKind::kLocalRepo) {
    return ChooseFile(facts, request, needs);
  }
  ASSIGN_OR_RETURN(const std::vector<SourceKind> sources, SourcesOf(facts, request, needs));
  std::vector<std::string> passed_over;
  for (const SourceKind source : sources) {
    const std::optional<Offer> offer = BestOf(facts, source, needs, request.kind);
    if (!offer) {
      continue;
    }
    if (std::string problem = FabricProblem(facts, source); !problem.empty()) {
      if (request.source) {
        return FailedPrecondition("--source {}: {}: use nvidia", ToString(source), problem);
      }
      passed_over.push_back(std::move(problem));
      continue;
    }
    Choice choice;
    choice.version = request.version.empty() ? fmt::format("{}", offer->branch) : request.version;
    choice.kind = KindOf(*offer, needs, request.kind);
    choice.source = source;
    // SUSE signs the open ones.
    choice.is_signed = offer->is_signed && (facts.distribution.family != host::Family::kSuse ||
                                            choice.kind == ModuleKind::kOpen);
    choice.why = needs.why;
    choice.why.insert(choice.why.end(), passed_over.begin(), passed_over.end());
    choice.notes = needs.notes;
    Explain(*offer, needs, request, choice);
    return choice;
  }
  if (!passed_over.empty()) {
    return FailedPrecondition("{}: {}", facts.distribution.name, Join(passed_over, "; "));
  }
  return NothingFits(facts, request, needs, sources);
}

}  // namespace kgpu::driver
