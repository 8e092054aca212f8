import type { ApplicationErrors } from '../../applications/application-errors.js'
import type { Application } from '../../applications/applications.js'

import type { AuthorizationStep } from '../../contract/openid.js'
import { type AnswerAddress, answerLocation } from './begin-request.js'
import type { AuthorizationError } from './request-steps.js'

export type RequestEnd = { error: AuthorizationError; description?: string }

/** `step`: the question that was open when the request ended. */
export const accessDenied = (step: AuthorizationStep): RequestEnd => ({
  error: 'access_denied',
  description: step === 'no_access' ? 'The user has no access to this application' : 'The user has declined',
})

export type Answers = ReturnType<typeof createAnswers>

type Dependencies = { applicationErrors: Pick<ApplicationErrors, 'note'>; issuer: string }

/** The URLs to which the browser takes the answer to a request. */
export const createAnswers = ({ applicationErrors, issuer }: Dependencies) => ({
  /** Ends the request without a code. This is counted as a normal end and not as an error of the application. */
  withError: (application: Application, address: AnswerAddress, { error, description }: RequestEnd) => {
    applicationErrors.note(application, 'normal_end', description === undefined ? error : `${error}: ${description}`)
    return answerLocation(
      address,
      { error, ...(description !== undefined && { error_description: description }) },
      issuer,
    )
  },
  withCode: (address: AnswerAddress, code: string) => answerLocation(address, { code }, issuer),
})
