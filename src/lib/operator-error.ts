import { codeOf } from './caught.js'
/** An error that the operator of the service can fix. The message says what is needed, so it is printed without a stack. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}

type Reasons = Readonly<Record<string, string>>

const readingFaults: Reasons = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
  ETIMEDOUT: 'its disk does not answer',
  not_regular: 'it is a pipe or a device and no regular file',
}

const writingFaults: Reasons = {
  ENOENT: 'there is no such folder',
  EACCES: 'this user may not do that',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'no space is left there',
  EDQUOT: 'the quota is used up',
  EROFS: 'the disk is read-only',
  EIO: 'an input or output error',
  EPIPE: 'nothing reads it',
}

const reasonIn = (reasons: Reasons, error: unknown) => {
  const code = codeOf(error)
  return code === undefined ? undefined : (reasons[code] ?? code)
}

/** The reason why a file cannot be read, for an operator. */
export const whyUnreadable = (error: unknown) => reasonIn(readingFaults, error) ?? 'unknown'

/** The reason why something cannot be written, for an operator. It is undefined if the error does not come from the operating system. */
export const whyUnwritable = (error: unknown) => reasonIn(writingFaults, error)
