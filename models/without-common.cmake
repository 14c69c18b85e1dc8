# llama-cpp-sys-2 has llama.cpp's library "common" built (what its own programs are made of) whatever features are chosen, and that was
# most of the time that its C++ took: 548 seconds beside other code on two cores, and 139 alone without it. Tiro uses nothing of it.
# `.cargo/config.toml` has this file read.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "not used" FORCE)
