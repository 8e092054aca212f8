import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import { sendRefusal } from './errors.js'

export type NeedsMail = ReturnType<typeof createNeedsMail>

/**
 * The first hook of each request that causes a mail. Where mail is off it refuses before anything is counted or looked up, so the answer is
 * the same for every account and for none.
 */
export const createNeedsMail = (mailIsOff: boolean) => async (_: FastifyRequest, reply: FastifyReply) =>
  mailIsOff ? sendRefusal(reply, refuse('mail_is_off')) : undefined
