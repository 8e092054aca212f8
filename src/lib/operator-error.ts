/** Something that the operator of the service can fix. The message says all that is needed; a stack would only hide it. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
