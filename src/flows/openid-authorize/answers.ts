import type { Application } from '../../domain/applications/application.js'
import type { ApplicationErrors } from '../../domain/applications/application-errors.js'
import type { AuthorizationError } from '../../domain/authorization-requests/request-steps.js'
import { type AnswerAddress, answerLocation } from './begin-request.js'

export type Answers = ReturnType<typeof createAnswers>

type Dependencies = { applicationErrors: Pick<ApplicationErrors, 'note'>; issuer: string }

/** Where the browser goes with the answer to a request. */
export const createAnswers = ({ applicationErrors, issuer }: Dependencies) => ({
  /** It ends without a code, as it may: that is counted, and is no error of the application. */
  withError: (application: Application, address: AnswerAddress, error: AuthorizationError) => {
    applicationErrors.note(application, 'normal_end', error)
    return answerLocation(address, { error }, issuer)
  },
  withCode: (address: AnswerAddress, code: string) => answerLocation(address, { code }, issuer),
})
