#include "src/diagnose/image/verdict.h"

#include <algorithm>
#include <iterator>
#include <utility>

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
    verdict_.is_minor_known = need.is_minor_known;
    verdict_.evidence = std::move(need.evidence);
    SpeakOfHost();
    HearArchitecture();
    if (verdict_.cuda) {
      HearDriver(*verdict_.cuda);
      HearGpus(*verdict_.cuda);
    }
    HearWhatWasSeen();
    HearRequirements();
    HearLibraries();
    std::ranges::copy(image_.notes, std::back_inserter(verdict_.notes));
    return std::move(verdict_);
  }

 private:
  void Show(std::string line) { verdict_.evidence.push_back(std::move(line)); }
  void Note(std::string line) { verdict_.notes.push_back(std::move(line)); }
  void Mend(std::string line) { verdict_.mend.push_back(std::move(line)); }
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
             : fmt::format("driver {} has all of CUDA {}", host_.driver.str(), highest));
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
    Mend(IsImageName(image_.name)
             ? fmt::format("podman pull --platform {} {}",
                           ShellWord(fmt::format("linux/{}", host_.architecture)),
                           ShellWord(image_.name))
             : fmt::format("# an image for {}", Printable(host_.architecture, 40)));
  }

  // What nobody looked into may hold any CUDA.
  void HearWhatWasSeen() {
    if (image_.is_looked_into) {
      if (!verdict_.cuda) {
        Note("nothing in the image is of CUDA");
      }
      return;
    }
    if (verdict_.cuda) {
      Note("not all layers were looked into: a newer CUDA in them would count");
      return;
    }
    Worsen(Answer::kUnknown);
    Show("nothing of CUDA was seen, but not all layers were looked into");
    Mend("# let its layers be read: as root, without --quick, or from a file of docker save");
  }

  // The driver is new enough where it says so itself: it may be newer than our table.
  Fit FitOfDriver(const CudaVersion& cuda) const {
    const auto says = CudaVersion::Parse(host_.cuda);
    if (says.ok() && *says >= cuda) {
      return Fit::kWhole;
    }
    return cuda::FitOf(cuda, host_.driver);
  }

  void HearDriver(const CudaVersion& cuda) {
    switch (FitOfDriver(cuda)) {
      case Fit::kWhole:
        if (!verdict_.is_minor_known) {
          Note(
              fmt::format("which minor version of CUDA {} it is was not seen: one that is newer "
                          "than the driver's runs by minor-version compatibility",
                          cuda.major));
        }
        return;
      case Fit::kMinor:
        Worsen(Answer::kRunsByMinor);
        MendMinor(cuda);
        return;
      case Fit::kUnknown:
        Note(fmt::format("CUDA {} is newer than all that is known here", cuda.str()));
        break;
      case Fit::kNone:
        break;
    }
    HearCompat(cuda);
  }

  void MendMinor(const CudaVersion& cuda) {
    const std::optional<DriverVersion> whole = cuda::LeastDriver(cuda);
    if (whole) {
      Mend(fmt::format("# for programs that compile PTX when they run: driver {} or newer",
                       whole->str()));
    }
  }

  const CudaLibrary* FindCompat(const CudaVersion& cuda) const {
    for (const CudaLibrary& library : image_.libraries) {
      const auto version = DriverVersion::Parse(library.version);
      if (library.kind == LibraryKind::kCompat && version.ok()) {
        const Fit fit = cuda::FitOf(cuda, *version);
        if (fit == Fit::kWhole || fit == Fit::kMinor) {
          return &library;
        }
      }
    }
    return nullptr;
  }

  // Why cuda-compat would not help; empty where it would.
  std::string WhyNoCompat(const CudaVersion& cuda) const {
    if (!cuda::HasCompat(cuda)) {
      return fmt::format("there is no cuda-compat for CUDA {}", cuda.str());
    }
    if (!cuda::TakesCompat(cuda, host_.driver)) {
      return fmt::format("cuda-compat of CUDA {} is not known to run over drivers of branch {}",
                         cuda.str(), host_.driver.branch());
    }
    for (const HostGpu& gpu : host_.gpus) {
      if (gpu.is_data_center == false) {
        return fmt::format("cuda-compat runs on GPUs of data centers only, not on {}",
                           NameOfGpu(gpu));
      }
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
    if (why_not.empty()) {
      UseCompat(cuda);
    } else {
      Worsen(Answer::kNot);
      Show(why_not);
    }
    MendDriver(cuda, needed, whole);
  }

  void MendDriver(const CudaVersion& cuda, const std::string& needed,
                  const std::optional<DriverVersion>& whole) {
    if (needed.empty()) {
      Mend("# a newer driver on the host");
    } else if (whole && whole->str() != needed) {
      Mend(fmt::format("# driver {} or newer on the host; {} for programs that compile PTX", needed,
                       whole->str()));
    } else {
      Mend(fmt::format("# driver {} or newer on the host", needed));
    }
    const std::string highest = HighestText();
    if (!highest.empty() && highest != cuda.str()) {
      Mend(fmt::format("# an image for CUDA {} or older", highest));
    }
  }

  // The folder in front of what the image searches itself, which its programs need as well.
  std::string SearchFirst(std::string_view folder) const {
    const std::string_view own = EnvOf(image_, kLibraryPath);
    return fmt::format("{}={}{}{}", kLibraryPath, folder, own.empty() ? "" : ":", own);
  }

  void UseCompat(const CudaVersion& cuda) {
    Worsen(Answer::kNeedsCompat);
    const CudaLibrary* compat = FindCompat(cuda);
    verdict_.has_compat = compat != nullptr;
    if (compat != nullptr) {
      const std::string folder = compat->path.substr(0, compat->path.rfind('/'));
      Show(
          fmt::format("/{} in the image is a cuda-compat that does", Printable(compat->path, 200)));
      Mend(
          fmt::format("podman run --env {} …", ShellWord(SearchFirst(fmt::format("/{}", folder)))));
    } else {
      Show(image_.is_looked_into ? "the image has no cuda-compat that does"
                                 : "whether the image has a cuda-compat was not seen");
      Mend(fmt::format("apt-get install cuda-compat-{}-{}   # in the image; then {}", cuda.major,
                       cuda.minor, ShellWord(SearchFirst("/usr/local/cuda/compat"))));
      Mend(
          "# on the host, for every container: cuda-compat in kgpu-runtime's configuration "
          "(docs/runtime-shim.md)");
    }
    if (host_.gpus.empty() || std::ranges::any_of(host_.gpus, [](const HostGpu& gpu) {
          return !gpu.is_data_center.has_value();
        })) {
      Note("cuda-compat runs on GPUs of data centers only: whether this is one is not known");
    }
  }

  void HearGpus(const CudaVersion& cuda) {
    for (const HostGpu& gpu : host_.gpus) {
      if (gpu.compute) {
        HearGpu(cuda, gpu, *gpu.compute);
      }
    }
  }

  void HearGpu(const CudaVersion& cuda, const HostGpu& gpu,
               const cuda::ComputeCapability& compute) {
    const std::optional<cuda::ComputeCapability> least = cuda::LeastCompute(cuda.major);
    if (least && compute < *least) {
      Worsen(Answer::kNot);
      Show(fmt::format("CUDA {} is not made for compute capability {} of {}: {} and newer only",
                       cuda.major, compute.str(), NameOfGpu(gpu), least->str()));
      if (const std::optional<uint32_t> last = cuda::LastCudaMajor(compute)) {
        Mend(fmt::format("# an image for CUDA {}, the last for this GPU, or older", *last));
      }
      return;
    }
    const std::optional<CudaVersion> first = cuda::FirstCuda(compute);
    if (first && cuda < *first && (verdict_.is_minor_known || cuda.major < first->major)) {
      Worsen(Answer::kPtxOnly);
      Show(fmt::format("CUDA {} makes no code for compute capability {} of {}: {} does first",
                       cuda.str(), compute.str(), NameOfGpu(gpu), first->str()));
      Mend(fmt::format("# an image for CUDA {} or newer", first->str()));
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
    const bool is_of_driver =
        verdict_.answer != Answer::kRuns && verdict_.answer != Answer::kUnknown;
    if (!is_of_driver && requirements.outcome == cuda::Outcome::kUnsatisfied) {
      Worsen(Answer::kNot);
    } else if (verdict_.answer == Answer::kRunsByMinor) {
      Mend("podman run --env NVIDIA_DISABLE_REQUIRE=1 …");
    }
  }

  // Libraries of the image that stand in the way of the host's.
  void HearLibraries() {
    const std::string_view search = EnvOf(image_, kLibraryPath);
    for (const CudaLibrary& library : image_.libraries) {
      if (library.kind == LibraryKind::kDriver) {
        Note(
            fmt::format("/{} is a driver's library that the image brings: it may be found before "
                        "the host's, which must be the one",
                        Printable(library.path, 200)));
      }
    }
    if (search.find("/stubs") != std::string_view::npos) {
      Note("LD_LIBRARY_PATH leads to stubs, whose libcuda does nothing");
    }
    if (search.find("/compat") != std::string_view::npos) {
      HearCompatInPath();
    }
  }

  void HearCompatInPath() {
    for (const HostGpu& gpu : host_.gpus) {
      if (gpu.is_data_center == false) {
        Note(
            fmt::format("LD_LIBRARY_PATH leads to cuda-compat, with which CUDA does not start on "
                        "{} (error 804): set it to nothing",
                        NameOfGpu(gpu)));
        return;
      }
    }
    for (const CudaLibrary& library : image_.libraries) {
      const auto version = DriverVersion::Parse(library.version);
      if (library.kind == LibraryKind::kCompat && version.ok() && *version < host_.driver) {
        Note(
            fmt::format("LD_LIBRARY_PATH leads to cuda-compat {}, which is older than the driver "
                        "and does not run over it: set it to nothing",
                        library.version));
        return;
      }
    }
  }

  const ImageFacts& image_;
  const HostFacts& host_;
  ImageVerdict verdict_;
};

}  // namespace

std::string_view ToString(Answer answer) {
  switch (answer) {
    case Answer::kRuns:
      return "runs";
    case Answer::kRunsByMinor:
      return "runs-by-minor-version";
    case Answer::kUnknown:
      return "unknown";
    case Answer::kPtxOnly:
      return "runs-from-ptx-only";
    case Answer::kNeedsCompat:
      return "needs-cuda-compat";
    case Answer::kNot:
      break;
  }
  return "will-not-run";
}

std::string_view Describe(Answer answer) {
  switch (answer) {
    case Answer::kRuns:
      return "runs";
    case Answer::kRunsByMinor:
      return "runs by minor-version compatibility (programs that compile PTX excepted)";
    case Answer::kUnknown:
      return "not known: too little of it could be read";
    case Answer::kPtxOnly:
      return "runs only as far as its programs hold PTX for newer GPUs";
    case Answer::kNeedsCompat:
      return "needs cuda-compat";
    case Answer::kNot:
      break;
  }
  return "will not run";
}

bool IsGood(const ImageVerdict& verdict) {
  return verdict.answer <= Answer::kRunsByMinor && !verdict.is_refused;
}

ImageVerdict Judge(const ImageFacts& image, const HostFacts& host) {
  return Judgement(image, host).Speak();
}

}  // namespace kgpu::image
