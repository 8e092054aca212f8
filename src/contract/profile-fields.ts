import { type Static, Type } from 'typebox'
import { OneOf } from './refusal-bodies.js'

/** The most characters of one value, and of all values of a user together. The fields are those of PROFILE_FIELDS_FILE. */
export const maxTotalLength = 4_000
export const maxFields = 20

export const fieldTypes = ['text', 'phone', 'url', 'date', 'choice', 'boolean'] as const
export type FieldType = (typeof fieldTypes)[number]

const Labels = Type.Record(Type.String(), Type.String(), { title: 'FieldLabels', description: 'By language' })
export type FieldLabels = Static<typeof Labels>

export const ProfileFieldDefinition = Type.Object(
  {
    key: Type.String(),
    type: OneOf(fieldTypes),
    labels: Labels,
    required: Type.Boolean(),
    registration: Type.Boolean({ description: 'Whether the registration asks for it' }),
    editedBy: OneOf(['user', 'administrators']),
    minLength: Type.Optional(Type.Integer()),
    maxLength: Type.Optional(Type.Integer()),
    min: Type.Optional(Type.String({ description: 'A day, or `today`' })),
    max: Type.Optional(Type.String()),
    options: Type.Optional(Type.Array(Type.Object({ value: Type.String(), labels: Labels }))),
  },
  { title: 'ProfileFieldDefinition' },
)
export type ProfileFieldDefinition = Static<typeof ProfileFieldDefinition>

export type FieldValue = string | boolean
/** The values of one user, by key. A field without a value is left out. */
export type FieldValues = Readonly<Record<string, FieldValue>>

const Value = Type.Union([Type.String(), Type.Boolean()])
export const ProfileFields = Type.Record(Type.String(), Value, {
  title: 'ProfileFields',
  description: 'The values of the fields in PROFILE_FIELDS_FILE, by key',
})

/** The rules of each field limit the text further, and say what is wrong. */
const NewValue = Type.Union([Type.String({ maxLength: maxTotalLength }), Type.Boolean(), Type.Null()])
export const ProfileFieldChanges = Type.Record(Type.String({ maxLength: 64 }), NewValue, {
  maxProperties: maxFields,
  title: 'ProfileFieldChanges',
  description: 'By key; null or an empty text removes a value',
})
export type ProfileFieldChanges = Static<typeof ProfileFieldChanges>

/** The faults of a value. */
const fieldFaults = [
  'unknown',
  'administrators_only',
  'required',
  'wrong_type',
  'characters',
  'too_short',
  'too_long',
  'phone',
  'url',
  'date',
  'too_early',
  'too_late',
  'choice',
] as const
export type FieldFaultId = (typeof fieldFaults)[number]

export const InvalidFields = Type.Object(
  {
    error: Type.String(),
    message: Type.String(),
    code: Type.Literal('invalid_fields'),
    fields: Type.Array(Type.Object({ key: Type.String(), fault: OneOf(fieldFaults) })),
  },
  { title: 'InvalidFields' },
)
export type InvalidFields = Static<typeof InvalidFields>
