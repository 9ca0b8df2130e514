// EditBundle of run.h.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "src/container/oci/edit.h"
#include "src/container/oci/spec.h"
#include "src/container/shim/audit.h"
#include "src/container/shim/bundle.h"
#include "src/container/shim/request.h"
#include "src/container/shim/requirements.h"
#include "src/container/shim/resolve.h"
#include "src/container/shim/run.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::shim {
namespace {

// Added to every spec that was edited: a runtime behind this one would inject a second time.
constexpr std::string_view kVoid = "NVIDIA_VISIBLE_DEVICES=void";

class Edit {
 public:
  Edit(const CommandLine& line, const Config& config, const Host& host, const BundleSpec& bundle)
      : line_(line), config_(config), host_(host), bundle_(bundle) {}

  // Engines show people what was written first: that must be the reason of a refusal.
  Status Run() {
    Status status = EditSpec();
    if (audit_problem_.empty()) {
      return status;
    }
    if (!status.ok()) {
      return MakeStatus(status.code(),
                        fmt::format("{} (no audit: {})", Message(status), audit_problem_));
    }
    (void)std::fputs(fmt::format("kgpu-runtime: no audit: {}\n", audit_problem_).c_str(), stderr);
    return status;
  }

 private:
  Status EditSpec() {
    ASSIGN_OR_RETURN(oci::Spec spec, oci::Spec::Parse(bundle_.text(), bundle_.path()));
    ASSIGN_OR_RETURN(const Asks asks, FindAsks(spec));
    const Decision decision = Decide(asks, config_);
    for (const Refusal& refusal : decision.refusals) {
      Audit({.is_granted = false,
             .source = NameOf(refusal.source),
             .asked = refusal.asked,
             .reason = refusal.reason});
    }
    if (decision.granted) {
      return Give(spec, asks, *decision.granted);
    }
    // A hook entry without a request, as OCI hook folders make them for every container.
    return asks.has_hook ? RemoveHook(spec) : OkStatus();
  }

  Status RemoveHook(oci::Spec& spec) {
    RETURN_IF_ERROR(spec.RemoveHooks(IsGpuHook).status());
    return Write(spec);
  }

  Status Give(oci::Spec& spec, const Asks& asks, Source source) {
    asked_ = AskedBy(asks, source);
    const StatusOr<Grant> grant = Put(spec, asks, source);
    Audit({.is_granted = grant.ok(),
           .source = NameOf(source),
           .asked = asked_,
           .devices = grant.ok() ? fmt::format("{}", fmt::join(grant->devices, ",")) : "",
           .reason = grant.ok() ? fmt::format("{}", fmt::join(grant->notes, "; "))
                                : std::string(Message(grant.status()))});
    return grant.status();
  }

  StatusOr<Grant> Put(oci::Spec& spec, const Asks& asks, Source source) {
    ASSIGN_OR_RETURN(const std::vector<std::string_view> env, spec.Env());
    ASSIGN_OR_RETURN(Request request, ReadRequest(asks, source, env, config_));
    ASSIGN_OR_RETURN(const inject::CapabilitySet wanted,
                     WantedCapabilities(env, config_.default_capabilities));
    IndexReader reader(host_.state);
    ASSIGN_OR_RETURN(Grant grant, Resolve(request, wanted, reader, host_.state));
    std::ranges::move(request.notes, std::back_inserter(grant.notes));
    RETURN_IF_ERROR(MeetRequirements(env, config_, reader, host_.state, grant));
    RETURN_IF_ERROR(spec.RemoveMounts(IsRequestMountOf(source)).status());
    RETURN_IF_ERROR(spec.RemoveHooks(IsGpuHook).status());
    RETURN_IF_ERROR(oci::ApplyEdits(spec, grant.cdi_edits, host_.engine));
    RETURN_IF_ERROR(
        oci::ApplyEdits(spec, grant.index_edits, host_.engine, oci::BindOwners::kAsOnHost));
    RETURN_IF_ERROR(spec.SetEnv(kVoid));
    RETURN_IF_ERROR(Write(spec));
    return grant;
  }

  // Mounts whose word was not taken stay what they are: mounts.
  static std::function<bool(const oci::MountView&)> IsRequestMountOf(Source source) {
    if (source == Source::kMounts) {
      return IsRequestMount;
    }
    return [](const oci::MountView&) { return false; };
  }

  Status Write(const oci::Spec& spec) {
    ASSIGN_OR_RETURN(const std::string text, spec.Print());
    return bundle_.Replace(text);
  }

  // The fields of an entry that only this run knows.
  struct Event {
    bool is_granted = false;
    std::string_view source;
    std::string asked;
    std::string devices = {};
    std::string reason;
  };

  // A container does not wait for an admin to fix the log: people read it on stderr.
  void Audit(const Event& event) {
    if (config_.audit_log.empty()) {
      return;
    }
    const std::string line = AuditLine({.is_granted = event.is_granted,
                                        .container = line_.container,
                                        .bundle = line_.bundle,
                                        .source = event.source,
                                        .asked = event.asked,
                                        .devices = event.devices,
                                        .reason = event.reason},
                                       host_.clock.WallNow());
    const std::string file = AuditFile(config_.audit_log, event.is_granted);
    if (const Status status = AppendAudit(host_.state.At(file), line); !status.ok()) {
      audit_problem_ = Message(status);
    }
  }

  const CommandLine& line_;
  const Config& config_;
  const Host& host_;
  const BundleSpec& bundle_;
  std::string asked_;
  std::string audit_problem_;
};

// As crun finds it: create.c and run.c of containers/crun.
std::string SpecPath(const CommandLine& line) {
  return line.spec_file == kUsualSpec ? fmt::format("{}/{}", line.bundle, kUsualSpec)
                                      : std::string(line.spec_file);
}

}  // namespace

Status EditBundle(const CommandLine& line, const Config& config, const Host& host) {
  ASSIGN_OR_RETURN(const std::optional<BundleSpec> bundle, BundleSpec::Open(SpecPath(line)));
  if (!bundle || !MayAsk(bundle->text())) {
    return OkStatus();
  }
  return Edit(line, config, host, *bundle).Run();
}

}  // namespace kgpu::shim
