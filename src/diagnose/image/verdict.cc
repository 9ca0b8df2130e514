#include "src/diagnose/image/verdict.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "src/diagnose/image/compat.h"
#include "src/diagnose/image/need.h"
#include "src/gpu/cuda/compatibility.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

using cuda::CudaVersion;
using cuda::DriverVersion;
using cuda::Fit;

constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH";

std::string NameOfGpu(const HostGpu& gpu) {
  return gpu.name.empty() ? "the GPU" : gpu.name;
}

class Judgement {
 public:
  Judgement(const ImageFacts& image, const HostFacts& host) : image_(image), host_(host) {}

  ImageVerdict Speak() {
    Need need = NeedOf(image_);
    verdict_.cuda = need.cuda;
    verdict_.update = need.update;
    verdict_.is_minor_known = need.is_minor_known;
    verdict_.finding.evidence = std::move(need.evidence);
    SpeakOfHost();
    HearArchitecture();
    if (verdict_.cuda) {
      // No driver makes a CUDA run on a GPU that it has dropped.
      if (!HasDroppedGpu(*verdict_.cuda)) {
        HearDriver(*verdict_.cuda);
      }
      HearGpus(*verdict_.cuda);
    }
    HearWhatWasSeen();
    HearRequirements();
    HearLibraries();
    std::ranges::copy(image_.notes, std::back_inserter(verdict_.notes));
    Conclude();
    return std::move(verdict_);
  }

 private:
  void Conclude() {
    const bool is_good = verdict_.answer <= Answer::kRunsByMinor && !verdict_.is_refused;
    report::Finding& finding = verdict_.finding;
    finding.id = ToString(verdict_.answer);
    finding.severity = is_good ? report::Severity::kInfo : report::Severity::kError;
    finding.subject = fmt::format(
        "{} ({})", image_.name.empty() ? "image" : Printable(image_.name, 200), image_.source);
    // Two things may be unknown.
    const std::string answer = verdict_.answer == Answer::kUnknown && is_cuda_unknown_
                                   ? "unknown: this kgpu does not know that CUDA version"
                                   : std::string(Describe(verdict_.answer));
    finding.message =
        fmt::format("{}{}", answer, verdict_.is_refused ? "; the container will not start" : "");
  }

  void Show(std::string line) { verdict_.finding.evidence.push_back(std::move(line)); }
  void Note(std::string line) { verdict_.notes.push_back(std::move(line)); }
  void Fix(std::string line) {
    std::vector<std::string>& commands = verdict_.finding.fix.commands;
    if (std::ranges::find(commands, line) == commands.end()) {
      commands.push_back(std::move(line));
    }
  }
  void Worsen(Answer answer) { verdict_.answer = std::max(verdict_.answer, answer); }

  std::string HighestText() const {
    if (!host_.cuda.empty()) {
      return host_.cuda;
    }
    const std::optional<CudaVersion> highest = cuda::HighestCuda(host_.driver);
    return highest ? highest->str() : std::string();
  }

  void SpeakOfHost() {
    const std::string highest = HighestText();
    Show(highest.empty()
             ? fmt::format("driver {}", host_.driver.str())
             : fmt::format("driver {} fully supports CUDA {}", host_.driver.str(), highest));
  }

  void HearArchitecture() {
    if (image_.architecture.empty() || host_.architecture.empty() ||
        image_.architecture == host_.architecture) {
      return;
    }
    Worsen(Answer::kNot);
    Show(fmt::format("the image is for {}, the host is {}", Printable(image_.architecture, 40),
                     host_.architecture));
    // A name from an archive may be anything.
    Fix(IsImageName(image_.name)
            ? fmt::format("podman pull --platform {} {}",
                          ShellWord(fmt::format("linux/{}", host_.architecture)),
                          ShellWord(image_.name))
            : fmt::format("# an image for {}", Printable(host_.architecture, 40)));
  }

  // Parts that were not inspected may contain any CUDA.
  void HearWhatWasSeen() {
    if (image_.is_looked_into) {
      if (!verdict_.cuda) {
        Note("the image contains no CUDA");
      }
      return;
    }
    if (verdict_.cuda) {
      Note("not all layers were read: they may contain a newer CUDA version");
      return;
    }
    Worsen(Answer::kUnknown);
    Show("no CUDA was found, but not all layers were read");
    Fix("# read all layers: as root, without --quick, or from a file of docker save");
  }

  // The driver is new enough if it says so itself: it may be newer than our table.
  Fit FitOfDriver(const CudaVersion& cuda, unsigned update) const {
    const Fit fit = cuda::FitOf(cuda, host_.driver, update);
    const auto says = CudaVersion::Parse(host_.cuda);
    // It names no update: of one, the table has the last word as far as it knows the version.
    const bool is_by_table = update > 0 && fit != Fit::kUnknown && says.ok() && *says == cuda;
    return says.ok() && *says >= cuda && !is_by_table ? Fit::kWhole : fit;
  }

  void HearDriver(const CudaVersion& cuda) {
    switch (FitOfDriver(cuda, verdict_.update)) {
      case Fit::kWhole:
        if (!verdict_.is_minor_known) {
          Note(
              fmt::format("the minor version of CUDA {} is unknown: if it is newer than the "
                          "driver's, it runs by minor-version compatibility",
                          cuda.major));
        }
        return;
      case Fit::kMinor:
        Worsen(Answer::kRunsByMinor);
        FixMinor(cuda);
        return;
      case Fit::kUnknown:
        if (!cuda::LeastCompute(cuda.major)) {
          LeaveOpen(cuda);
          return;
        }
        Note(fmt::format("CUDA {} is newer than any version known to kgpu", cuda.str()));
        break;
      case Fit::kNone:
        break;
    }
    HearCompat(cuda);
  }

  // Of a major version without a row in our tables nothing is known: no driver, no cuda-compat.
  void LeaveOpen(const CudaVersion& cuda) {
    is_cuda_unknown_ = true;
    Worsen(Answer::kUnknown);
    Show(fmt::format("CUDA {} is newer than any version known to kgpu", cuda.str()));
    const std::string highest = HighestText();
    Fix(highest.empty() ? fmt::format("# a newer kgpu, which knows CUDA {}", cuda.major)
                        : fmt::format("# an image for CUDA {} or older, or a newer kgpu, which "
                                      "knows CUDA {}",
                                      highest, cuda.major));
  }

  void FixMinor(const CudaVersion& cuda) {
    const std::optional<DriverVersion> whole = cuda::LeastDriver(cuda, verdict_.update);
    if (whole && RunsGpus(*whole)) {
      Fix(fmt::format("# for programs that compile PTX at run time: driver {} or newer",
                      whole->str()));
    } else if (const std::string highest = HighestText(); whole && !highest.empty()) {
      Fix(
          fmt::format("# for programs that compile PTX when they run: an image for CUDA {} or "
                      "older, since newer drivers have dropped the GPU",
                      highest));
    }
  }

  // Whether drivers of this branch still run every GPU of the host.
  bool RunsGpus(const DriverVersion& driver) const {
    return std::ranges::all_of(host_.gpus, [&driver](const HostGpu& gpu) {
      return !gpu.compute ||
             driver.branch() <= cuda::LastDriverBranch(*gpu.compute).value_or(UINT32_MAX);
    });
  }

  static bool IsDropped(const CudaVersion& cuda, const cuda::ComputeCapability& compute) {
    const std::optional<cuda::ComputeCapability> least = cuda::LeastCompute(cuda.major);
    return least && compute < *least;
  }
  bool HasDroppedGpu(const CudaVersion& cuda) const {
    return std::ranges::any_of(host_.gpus, [&cuda](const HostGpu& gpu) {
      return gpu.compute && IsDropped(cuda, *gpu.compute);
    });
  }

  // Why cuda-compat would not help; empty where it would.
  std::string WhyNoCompat(const CudaVersion& cuda) const {
    if (!cuda::HasCompat(cuda)) {
      return fmt::format("there is no cuda-compat for CUDA {}", cuda.str());
    }
    if (!cuda::TakesCompat(cuda, host_.driver)) {
      return fmt::format("cuda-compat of CUDA {} is not known to run on drivers of branch {}",
                         cuda.str(), host_.driver.branch());
    }
    for (const HostGpu& gpu : host_.gpus) {
      if (gpu.is_data_center == false) {
        return fmt::format("cuda-compat runs only on data center GPUs, not on {}", NameOfGpu(gpu));
      }
    }
    const std::optional<DriverVersion> libraries = cuda::LeastDriver(cuda);
    if (libraries && !RunsGpus(*libraries)) {
      return fmt::format("cuda-compat of CUDA {} has dropped the GPU", cuda.str());
    }
    return "";
  }

  void HearCompat(const CudaVersion& cuda) {
    const std::optional<DriverVersion> least = cuda::LeastDriverForMinors(cuda.major);
    const std::optional<DriverVersion> whole = cuda::LeastDriver(cuda);
    const std::string needed = least ? least->str() : whole ? whole->str() : "";
    Show(
        fmt::format("CUDA {} needs {}", cuda.str(),
                    needed.empty() ? "a newer driver" : fmt::format("driver {} or newer", needed)));
    const std::string why_not = WhyNoCompat(cuda);
    if (!why_not.empty()) {
      Worsen(Answer::kNot);
      Show(why_not);
    } else if (const CudaLibrary* searched = FindSearchedCompat(image_, cuda)) {
      NoteSearched(cuda, *searched);
      return;
    } else {
      UseCompat(cuda);
    }
    FixDriver(cuda, needed, whole);
  }

  void FixDriver(const CudaVersion& cuda, const std::string& needed,
                 const std::optional<DriverVersion>& whole) {
    const auto least = DriverVersion::Parse(needed);
    if (needed.empty()) {
      Fix("# a newer driver on the host");
    } else if (least.ok() && !RunsGpus(*least)) {
      // Only an older image is left.
    } else if (whole && whole->str() != needed && RunsGpus(*whole)) {
      Fix(fmt::format("# driver {} or newer on the host; {} for programs that compile PTX", needed,
                      whole->str()));
    } else {
      Fix(fmt::format("# driver {} or newer on the host", needed));
    }
    const std::string highest = HighestText();
    if (!highest.empty() && highest != cuda.str()) {
      Fix(fmt::format("# an image for CUDA {} or older", highest));
    }
  }

  // The folder in front of what the image searches itself, which its programs need as well.
  std::string SearchFirst(std::string_view folder) const {
    const std::string_view own = EnvOf(image_, kLibraryPath);
    return fmt::format("{}={}{}{}", kLibraryPath, folder, own.empty() ? "" : ":", own);
  }

  // The image brings what it needs, and its programs find it.
  void NoteSearched(const CudaVersion& cuda, const CudaLibrary& compat) {
    verdict_.has_compat = true;
    runs_by_compat_ = true;
    Note(
        fmt::format("it runs with its own cuda-compat, /{}, to which its {} leads: keep that "
                    "variable",
                    Printable(compat.path, 200), kLibraryPath));
    NoteGpusOfCompat();
    const auto version = DriverVersion::Parse(compat.version);
    if (version.ok() && cuda::FitOf(cuda, *version, verdict_.update) == Fit::kMinor) {
      Worsen(Answer::kRunsByMinor);
      FixMinor(cuda);
    }
  }

  void UseCompat(const CudaVersion& cuda) {
    Worsen(Answer::kNeedsCompat);
    const CudaLibrary* compat = FindCompat(image_, cuda);
    verdict_.has_compat = compat != nullptr;
    if (compat != nullptr) {
      const std::string folder = compat->path.substr(0, compat->path.rfind('/'));
      Show(fmt::format("/{} in the image is a suitable cuda-compat", Printable(compat->path, 200)));
      Fix(fmt::format("podman run --env {} …", ShellWord(SearchFirst(fmt::format("/{}", folder)))));
    } else {
      Show(image_.is_looked_into ? "the image has no suitable cuda-compat"
                                 : "whether the image has a suitable cuda-compat is unknown");
      Fix(fmt::format("apt-get install cuda-compat-{}-{}   # in the image; then {}", cuda.major,
                      cuda.minor, ShellWord(SearchFirst("/usr/local/cuda/compat"))));
      Fix("# on the host, for all containers: set cuda-compat in kgpu-runtime's configuration "
          "(docs/how-it-works/runtime-shim.md)");
    }
    NoteGpusOfCompat();
  }

  void NoteGpusOfCompat() {
    if (host_.gpus.empty() || std::ranges::any_of(host_.gpus, [](const HostGpu& gpu) {
          return !gpu.is_data_center.has_value();
        })) {
      Note("cuda-compat runs only on data center GPUs: whether this GPU is one is unknown");
    }
  }

  // GPUs of one compute capability fare alike: each kind is reported once.
  void HearGpus(const CudaVersion& cuda) {
    std::map<cuda::ComputeCapability, std::vector<const HostGpu*>> kinds;
    for (const HostGpu& gpu : host_.gpus) {
      if (gpu.compute) {
        kinds[*gpu.compute].push_back(&gpu);
      }
    }
    for (const auto& [compute, gpus] : kinds) {
      const std::string more = gpus.size() == 1 ? "" : fmt::format(" and {} more", gpus.size() - 1);
      HearGpu(cuda, NameOfGpu(*gpus.front()) + more, compute);
    }
  }

  void HearGpu(const CudaVersion& cuda, const std::string& name,
               const cuda::ComputeCapability& compute) {
    if (IsDropped(cuda, compute)) {
      const std::optional<cuda::ComputeCapability> least = cuda::LeastCompute(cuda.major);
      Worsen(Answer::kNot);
      Show(fmt::format("CUDA {} does not support compute capability {} of {}: it needs {} or newer",
                       cuda.major, compute.str(), name, least ? least->str() : ""));
      FixDropped(compute);
      return;
    }
    const std::optional<CudaVersion> first = cuda::FirstCuda(compute);
    if (first && cuda < *first && (verdict_.is_minor_known || cuda.major < first->major)) {
      Worsen(Answer::kPtxOnly);
      Show(fmt::format(
          "CUDA {} generates no code for compute capability {} of {}: {} is the first that does",
          cuda.str(), compute.str(), name, first->str()));
      Fix(fmt::format("# an image for CUDA {} or newer", first->str()));
    }
  }

  // The newest image that both the GPU and the driver of this host run.
  void FixDropped(const cuda::ComputeCapability& compute) {
    const std::optional<uint32_t> last = cuda::LastCudaMajor(compute);
    const std::string highest = HighestText();
    const Fit fit = last ? FitOfDriver({*last, 0}, 0) : Fit::kNone;
    if (last && (fit == Fit::kWhole || fit == Fit::kMinor || highest.empty())) {
      Fix(fmt::format("# an image for CUDA {}, the last for this GPU, or older", *last));
    } else if (!highest.empty()) {
      Fix(fmt::format("# an image for CUDA {} or older", highest));
    }
  }

  cuda::HostFacts FactsForRequirements() const {
    cuda::HostFacts facts{host_.driver.str(), host_.cuda, {}};
    for (const HostGpu& gpu : host_.gpus) {
      facts.gpus.push_back({gpu.name, gpu.compute ? gpu.compute->str() : std::string(), gpu.brand});
    }
    return facts;
  }

  void HearRequirements() {
    cuda::Verdict requirements = cuda::CheckEnvironment(image_.env, FactsForRequirements());
    std::ranges::move(requirements.notes, std::back_inserter(verdict_.notes));
    if (requirements.outcome == cuda::Outcome::kSatisfied) {
      return;
    }
    verdict_.is_refused = true;
    Show(
        fmt::format("its requirements are not met, so kgpu-runtime and NVIDIA's hook refuse to "
                    "start it: {}",
                    requirements.reason));
    // Who asks for a GPU or a driver that is not here knows why; of the CUDA version we know more.
    const bool is_of_driver = runs_by_compat_ || (verdict_.answer != Answer::kRuns &&
                                                  verdict_.answer != Answer::kUnknown);
    if (!is_of_driver && requirements.outcome == cuda::Outcome::kUnsatisfied) {
      Worsen(Answer::kNot);
    } else if (runs_by_compat_ || verdict_.answer == Answer::kRunsByMinor) {
      Fix("podman run --env NVIDIA_DISABLE_REQUIRE=1 …");
    }
  }

  // Libraries of the image that conflict with those of the host.
  void HearLibraries() {
    const std::string_view search = EnvOf(image_, kLibraryPath);
    for (const CudaLibrary& library : image_.libraries) {
      if (library.kind == LibraryKind::kDriver) {
        Note(
            fmt::format("/{} is a driver library inside the image: it may be found instead of the "
                        "host's, which is required",
                        Printable(library.path, 200)));
      }
    }
    if (search.find("/stubs") != std::string_view::npos) {
      Note("LD_LIBRARY_PATH contains stubs, whose libcuda does nothing");
    }
    if (search.find("/compat") != std::string_view::npos) {
      HearCompatInPath();
    }
  }

  void HearCompatInPath() {
    for (const HostGpu& gpu : host_.gpus) {
      if (gpu.is_data_center == false) {
        Note(
            fmt::format("LD_LIBRARY_PATH contains cuda-compat, with which CUDA does not start on "
                        "{} (error 804): unset it",
                        NameOfGpu(gpu)));
        return;
      }
    }
    for (const CudaLibrary& library : image_.libraries) {
      const auto version = DriverVersion::Parse(library.version);
      if (library.kind == LibraryKind::kCompat && version.ok() && *version < host_.driver) {
        Note(
            fmt::format("LD_LIBRARY_PATH contains cuda-compat {}, which is older than the driver "
                        "and does not run on it: unset it",
                        library.version));
        return;
      }
    }
  }

  const ImageFacts& image_;
  const HostFacts& host_;
  ImageVerdict verdict_;
  bool is_cuda_unknown_ = false;
  bool runs_by_compat_ = false;  // libraries of its own
};

}  // namespace

std::string_view ToString(Answer answer) {
  static constexpr std::array<std::string_view, 6> kWords = {
      "runs",        "runs-by-minor-version", "unknown", "runs-from-ptx-only", "needs-cuda-compat",
      "will-not-run"};
  return kWords.at(static_cast<size_t>(answer));
}

std::string_view Describe(Answer answer) {
  static constexpr std::array<std::string_view, 6> kWords = {
      "runs",
      "runs by minor-version compatibility (except programs that compile PTX)",
      "unknown: too little of it could be read",
      "runs only if its programs contain PTX for newer GPUs",
      "needs cuda-compat",
      "will not run"};
  return kWords.at(static_cast<size_t>(answer));
}

ImageVerdict Judge(const ImageFacts& image, const HostFacts& host) {
  return Judgement(image, host).Speak();
}

}  // namespace kgpu::image
