/** An error that the operator of the service can fix. The message says what is needed, so it is printed without a stack. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
