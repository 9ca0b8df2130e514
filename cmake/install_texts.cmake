# Run by cmake --install, after the programs are in place.
set(to "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
foreach(folder "${to}/${mandir}" "${to}/${datadir}/bash-completion/completions"
    "${to}/${datadir}/zsh/site-functions" "${to}/${datadir}/fish/vendor_completions.d"
    "${to}/lib/systemd/system")
  file(MAKE_DIRECTORY "${folder}")
endforeach()

execute_process(COMMAND "${kgpu}" man --dir "${to}/${mandir}" OUTPUT_QUIET
  COMMAND_ERROR_IS_FATAL ANY)
foreach(script bash-completion/completions/kgpu zsh/site-functions/_kgpu
    fish/vendor_completions.d/kgpu.fish)
  string(REGEX MATCH "^[a-z]+" shell "${script}")
  execute_process(COMMAND "${kgpu}" completion "${shell}" COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_FILE "${to}/${datadir}/${script}")
endforeach()

# `kubectl kgpu …`, and its completion.
foreach(link kubectl-kgpu kubectl_complete-kgpu)
  file(CREATE_LINK kgpu "${to}/${bindir}/${link}" SYMBOLIC)
endforeach()

file(READ "${unit}" text)
string(REPLACE "/usr/local/bin/" "${CMAKE_INSTALL_PREFIX}/${bindir}/" text "${text}")
file(WRITE "${to}/lib/systemd/system/kgpu-agent.service" "${text}")
message(STATUS "Installing: man pages, completions and kgpu-agent.service below ${to}")
