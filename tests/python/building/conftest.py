from memory_folder import tmp_path  # noqa: F401
