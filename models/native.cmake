# How llama.cpp and whisper.cpp are built; `.cargo/config.toml` has both read this file.

# llama-cpp-sys-2 has llama.cpp's library "common" built (what its own programs are made of) whatever features are chosen, and that was
# most of the time that its C++ took: 548 seconds beside other code on two cores, and 139 alone without it. Tiro uses nothing of it.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "not used" FORCE)

# ggml's tiled matrix products, which llama.cpp has on and whisper.cpp has not: without them its encoder multiplies row by row, and 12
# orders of 5 to 10 s took 410 ms (median; base in q8_0, 2 cores with AVX-512) and not 301. Seen on x86-64 only, so only there.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(GGML_LLAMAFILE ON CACHE BOOL "tiled products" FORCE)
endif()
