import { type WebhookType, webhookBody, webhookTypes } from '../contract/webhooks.js'

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

/** Parts that all webhooks have in common, for the components of the document. */
export const webhookComponents = {
  parameters: {
    WebhookId: header('webhook-id', 'The same at every attempt, and of this event only'),
    WebhookTimestamp: header('webhook-timestamp', 'When this attempt was made, in seconds'),
    WebhookSignature: header(
      'webhook-signature',
      'As in Standard Webhooks: v1 and the HMAC-SHA256; several signatures while a secret is replaced',
    ),
  },
  responses: {
    WebhookTaken: { description: 'Taken: the webhook is not sent again' },
    WebhooksUnwanted: {
      description: 'No webhooks are wanted any more: nothing is sent until `latchkey webhooks retry` or a restart',
    },
    WebhookNotTaken: { description: 'Not taken: the webhook is sent again later' },
  },
}

const parameters = Object.keys(webhookComponents.parameters).map((name) => ({
  $ref: `#/components/parameters/${name}`,
}))

const responses = {
  '2XX': { $ref: '#/components/responses/WebhookTaken' },
  '410': { $ref: '#/components/responses/WebhooksUnwanted' },
  default: { $ref: '#/components/responses/WebhookNotTaken' },
}

const operationOf = (type: WebhookType) => ({
  post: {
    operationId: `webhook.${type}`,
    summary: webhookTypes[type].when,
    security: [],
    parameters,
    requestBody: { required: true, content: { 'application/json': { schema: webhookBody(type) } } },
    responses,
  },
})

/** The requests that we send to WEBHOOK_URL, as OpenAPI describes them. */
export const webhookOperations = () =>
  Object.fromEntries((Object.keys(webhookTypes) as WebhookType[]).map((type) => [type, operationOf(type)]))
