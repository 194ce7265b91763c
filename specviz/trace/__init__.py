"""The versioned trace: types, reading, writing, checking. The waist between engine and screen."""
