-- A debate may begin as a copy of the first turns of another.

ALTER TABLE debates ADD COLUMN origin_debate TEXT; -- the other debate's id
ALTER TABLE debates ADD COLUMN origin_position INTEGER; -- how many of its turns were copied
