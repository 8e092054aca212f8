const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such folder',
  EACCES: 'this user may not do that',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'no space is left there',
  EDQUOT: 'the quota is used up',
  EROFS: 'the disk is read-only',
  EIO: 'an input or output error',
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : undefined)

/** Why the system could not write, for an operator. Undefined if the error is not one of the system. */
export const writeFaultOf = (error: unknown) => {
  const code = codeOf(error)
  return code === undefined ? undefined : (reasons[code] ?? code)
}
