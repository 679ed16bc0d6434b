// matrix.js: reads matrices: { rows, cols, data }, or a LongMatrix, of which only parts have been fetched.

// undefined: not fetched.
export const valueAt = (matrix, i, j) => (matrix.data ? matrix.data[i * matrix.cols + j] : matrix.at(i, j));

// A row's numbers; null: not fetched.
export const rowOf = (matrix, i) => (matrix.data ? matrix.data.subarray(i * matrix.cols, (i + 1) * matrix.cols) : matrix.row(i));
