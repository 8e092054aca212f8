const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
}

/** Why a file cannot be read. */
export const whyUnreadable = (error: unknown) => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  return reasons[code] ?? code
}
