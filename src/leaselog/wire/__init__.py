"""Bytes to messages and back: frames, the codec, record batches, compression. What a message means it does not know."""
